"""SIGHUP in all processes of a daemon."""

import os
import signal
import subprocess
import sys

import pytest

from nova_sched.daemon import sighup


def test_each_sighup_is_handled_even_after_an_error():
    """In a process of its own, all threads of which block the signal."""
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


@pytest.mark.parametrize(('refused', 'is_master', 'acts'), [
    (False, True, [1]), (True, True, [1]), (False, False, [1]),
    (True, False, [])])
@pytest.mark.parametrize('error', [None, PermissionError('not yours')])
def test_logs_are_reopened_even_for_a_refused_configuration(
        monkeypatch, caplog, refused, is_master, acts, error):
    """The master checks the configuration each time."""
    done, opened = [], []
    handler = sighup.SighupHandler()
    if not is_master:
        monkeypatch.setattr(handler, '_master', os.getppid())
    monkeypatch.setattr(os, 'killpg', lambda *_: None)
    monkeypatch.setattr(signal, 'sigtimedwait', lambda *_: None)

    def reopen():
        opened.append(1)
        if error:
            raise error
    monkeypatch.setattr(sighup.logs, 'reopen', reopen)

    handler.forward(refused)
    handler._handle(lambda: done.append(1))

    assert opened == [1]
    assert done == acts
    assert ('not yours' in caplog.text) == bool(error)
