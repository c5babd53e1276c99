"""SIGHUP in all processes of a service."""

import os
import signal
import subprocess
import sys
import threading
import types

import pytest

from nova_sched.daemon import sighup


@pytest.fixture
def sighup_handler(monkeypatch):
    made = sighup.SighupHandler()
    monkeypatch.setattr(sighup.logs, 'reopen', lambda: None)
    return made


def test_sighup_calls_the_thread_that_waits_for_them():
    """In a process of its own, all threads of which block the signal.

    A call that fails is not the last one.
    """
    code = """if True:
        import os, signal, threading
        # Before numpy is imported, which starts a thread.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        from nova_sched.daemon import sighup
        called = threading.Semaphore(0)
        def act():
            called.release()
            raise ValueError('a surprise')
        sighup.SighupHandler().call_on_sighup(act)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGHUP)
            print(called.acquire(timeout=30))
    """
    run = subprocess.run([sys.executable, '-c', code], check=True,
                         capture_output=True, text=True)
    assert run.stdout == 'True\nTrue\n'
    assert 'a surprise' in run.stderr


def test_each_hangup_is_acted_on_whatever_became_of_the_last(
        sighup_handler, monkeypatch, caplog):
    """In a thread that keeps no process from ending."""
    waited, acts, flags = [], [], []

    def sigwait(signals):
        waited.append(signals)
        if len(waited) == 3:
            raise SystemExit

    def act():
        acts.append(len(waited))
        if len(acts) == 1:
            raise ValueError('a surprise')
    monkeypatch.setattr(signal, 'sigwait', sigwait)
    monkeypatch.setattr(threading, 'Thread', lambda target, name, daemon: (
        flags.append(daemon), types.SimpleNamespace(start=target))[1])
    with pytest.raises(SystemExit):
        sighup_handler.call_on_sighup(act)

    assert waited == [{signal.SIGHUP}] * 3
    assert acts == [1, 2]
    assert flags == [True]
    [line] = caplog.records
    assert line.exc_info[0] is ValueError


@pytest.mark.parametrize(('refused', 'is_parent', 'acts'), [
    (False, True, [1]), (True, True, [1]), (False, False, [1]),
    (True, False, [])])
def test_logs_are_opened_anew_whatever_the_configuration_is(
        sighup_handler, monkeypatch, refused, is_parent, acts):
    """What it is good for, the parent says, who looks at it each time."""
    done, opened = [], []
    if not is_parent:
        monkeypatch.setattr(sighup_handler, '_parent', os.getppid())
    monkeypatch.setattr(os, 'killpg', lambda *_: None)
    monkeypatch.setattr(signal, 'sigtimedwait', lambda *_: None)
    monkeypatch.setattr(sighup.logs, 'reopen', lambda: opened.append(1))

    sighup_handler.hand_on(refused)
    sighup_handler._take(lambda: done.append(1))

    assert opened == [1]
    assert done == acts


def test_a_log_that_cannot_be_opened_keeps_nothing_from_being_done(
        sighup_handler, monkeypatch, caplog):
    def fail():
        raise PermissionError('not yours')
    monkeypatch.setattr(sighup.logs, 'reopen', fail)
    done = []
    sighup_handler._take(lambda: done.append(1))
    assert done == [1]
    assert 'not yours' in caplog.text


def test_what_is_deferred_is_done_once_for_all_that_came_before():
    done = []
    deferred = sighup.Deferred(lambda: done.append(1))
    deferred()
    deferred()
    assert not done
    deferred.begin()
    assert done == [1]
    deferred()
    assert done == [1, 1]
