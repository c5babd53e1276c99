"""Workers and their master; processes are held by tests/functional."""

import contextlib
import os
import signal
import sys
import time
import types

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.daemon import sighup
from nova_sched.daemon import supervisor
from tests.builders import rules

REFUSAL = exception.ConfigurationError('[scheduler] max_attempts', '3', 'low')


class Notes:
    """A notifier that records the names of its notifications."""

    watchdog = None

    def __init__(self):
        self.names = []

    def __getattr__(self, name):
        return lambda *args: self.names.append(name)


class Hangup(sighup.SighupHandler):
    """SIGHUP, sent by a call of this object."""

    def call_on_sighup(self, act):
        self._act = act

    def __call__(self):
        self._handle(self._act)


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture
def signals(monkeypatch):
    """Signals that are recorded in place of being sent."""
    sent = []
    monkeypatch.setattr(os, 'kill', lambda pid, sig: sent.append((pid, sig)))
    monkeypatch.setattr(os, 'killpg', lambda pid, sig: sent.append((pid, sig)))
    return sent


def raise_(error):
    raise error


class TestWorker:
    @pytest.fixture
    def worker(self, notes):
        supervisor.gc.unfreeze()
        yield supervisor.Worker(rules.a_conf(), notes, Hangup())
        supervisor.gc.unfreeze()

    @pytest.fixture
    def start(self, worker, monkeypatch):
        """Function that starts the worker; of its service's start."""
        def start(act=lambda: worker._serving.set()):
            monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                                lambda self: act())
            worker.start()
        return start

    def test_is_ready_when_it_serves(self, start, worker, notes):
        """It leaves its first state out of garbage collection then."""
        start(lambda: None)
        assert notes.names == []
        assert supervisor.gc.get_freeze_count() == 0
        start()
        assert notes.names == ['ready']
        assert supervisor.gc.get_freeze_count() > 0
        assert not worker.refused

    def test_defers_a_reload_until_it_serves(self, start, worker, notes,
                                             caplog):
        reloads = []
        worker.conf.reload_config_files = lambda: reloads.append(
            worker.serving)

        def serve():
            worker._sighup()
            worker._sighup()
            assert reloads == []
            worker._serving.set()
        start(serve)
        assert reloads == [True]
        worker._sighup()
        assert reloads == [True, True]
        # Ready, and ready again after each reload, even if it fails.
        worker.conf.reload_config_files = lambda: 1 / 0
        worker._sighup()
        assert notes.names == ['ready'] * 4
        assert caplog.messages == ['Reading the configuration again failed']

    @pytest.mark.parametrize(('seconds', 'alive'), [
        (None, True), (0, True), (20, True), (40, False), (10 ** 6, False)])
    def test_is_alive_while_it_polls_starts_or_stops(
            self, start, worker, seconds, alive):
        """The limit is half of the watchdog's sixty seconds."""
        assert worker.alive()
        start()
        worker.server = types.SimpleNamespace(
            polled_at=None if seconds is None else time.monotonic() - seconds)
        assert worker.alive() is alive
        worker._stopping.set()
        assert worker.alive()

    @pytest.mark.parametrize('is_orphan', [True, False])
    def test_wrong_configuration_ends_the_service(
            self, start, worker, notes, signals, monkeypatch, is_orphan):
        """The parent of an orphan is process 1, which gets no signal."""
        monkeypatch.setattr(os, 'getppid', lambda: (
            1 if is_orphan else os.getpid()))
        start(lambda: raise_(REFUSAL))
        assert signals == [(os.getpid(), signal.SIGTERM)] * (not is_orphan)
        assert worker.refused
        assert 'ready' not in notes.names


class TestReload:
    @pytest.mark.parametrize(('reread', 'ended'), [
        (lambda: 1 / 0, pytest.raises(ZeroDivisionError)),
        (lambda: rules.a_conf(scheduler__driver='bogus'),
         contextlib.nullcontext())])
    def test_leaves_the_service_ready_after_an_error(
            self, signals, notes, caplog, reread, ended):
        """All processes must reopen their logs in any case."""
        master = supervisor.Supervisor(rules.a_conf(), reread, notes)
        master._all_forked.set()
        with ended:
            master._reload()
            assert caplog.text.count('Not reloading: ') == 1
        assert signals == [(0, signal.SIGHUP)]
        assert master._sighup.words.refused
        assert notes.names == ['reloading', 'ready']


@pytest.mark.parametrize(('end', 'status'), [
    (lambda worker: 1, 1), (lambda worker: sys.exit(143), 143),
    (lambda worker: worker._refused.set(), 2)])
def test_exit_status_is_2_for_refused_options(monkeypatch, notes, end, status):
    def launch(conf, worker, workers):
        assert workers == 3
        return types.SimpleNamespace(launch_service=lambda service: None,
                                     wait=lambda: end(worker))

    monkeypatch.setattr(supervisor.backend, 'get_component',
                        {'launch': launch}.get)
    monkeypatch.setattr(signal, 'signal', lambda number, act: None)
    monkeypatch.setattr(sighup, 'block', lambda: None)
    monkeypatch.setattr(sighup.SighupHandler, 'call_on_sighup',
                        lambda self, act: None)
    assert supervisor.Supervisor(rules.a_conf(scheduler__workers=3),
                                 rules.a_conf, notes).run() == status


class TestForeground:
    @pytest.fixture
    def handlers(self, monkeypatch):
        """The handlers of signals by number; no signal is blocked."""
        found = {}
        monkeypatch.setattr(signal, 'signal', found.__setitem__)
        monkeypatch.setattr(sighup, 'block', lambda: None)
        monkeypatch.setattr(
            sighup.SighupHandler, 'call_on_sighup',
            lambda self, act: found.update({signal.SIGHUP: act}))
        return found

    def test_names_a_refused_option_as_the_files_do(
            self, handlers, monkeypatch, caplog, tmp_path):
        path = tmp_path / 'nova.conf'
        path.write_text('[DEFAULT]\nscheduler_max_attempts = 3\n')
        served = supervisor.Foreground(
            config.new_conf([], [str(path)]), Notes())
        monkeypatch.setattr(served, 'start', lambda: raise_(REFUSAL))

        assert served.run() == 2
        assert ("Cannot run with this configuration: [DEFAULT] "
                "scheduler_max_attempts = '3'") in caplog.text

    @pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
    def test_is_ended_by_a_signal_and_killed_by_a_second(
            self, handlers, monkeypatch, number):
        """A SIGHUP during its start is deferred until it serves."""
        served, acts = supervisor.Foreground(rules.a_conf(), Notes()), []
        monkeypatch.setattr(served, 'reset', lambda: acts.append(1))

        def start():
            handlers[signal.SIGHUP]()
            assert acts == []
            handlers[number](number, None)
            served._serving.set()
            served._stopping.clear()
        monkeypatch.setattr(served, 'start', start)
        monkeypatch.setattr(served, 'stop', served._stopped.set)

        assert served.run() == 0
        assert acts == [1]
        assert handlers.pop(signal.SIGHUP)
        assert handlers == dict.fromkeys(
            (signal.SIGTERM, signal.SIGINT), signal.SIG_DFL)
