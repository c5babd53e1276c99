import os
import signal
import subprocess
import sys

import pytest

from nova_sched import exception
from nova_sched import supervisor
from tests.builders import rules


class Notes:
    """A notifier that remembers."""

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return lambda *args: self.told.append((name, *args))

    @property
    def names(self):
        return [name for name, *_ in self.told]


@pytest.fixture
def signals(monkeypatch):
    """Signals that were sent, instead of sending them."""
    sent = []
    monkeypatch.setattr(os, 'kill', lambda pid, sig: sent.append((pid, sig)))
    monkeypatch.setattr(os, 'killpg', lambda pid, sig: sent.append((pid, sig)))
    return sent


class TestWorkerCount:
    @pytest.mark.parametrize('driver', [
        'filter_scheduler', 'caching_scheduler', 'chance_scheduler'])
    def test_the_option_counts(self, driver):
        conf = rules.a_conf(scheduler__workers=3, scheduler__driver=driver)
        assert supervisor.worker_count(conf) == 3

    @pytest.mark.parametrize('workers', [None, 0])
    @pytest.mark.parametrize('driver', [
        'filter_scheduler',
        'nova.scheduler.filter_scheduler.FilterScheduler'])
    def test_the_filter_scheduler_has_one_a_cpu(self, driver, workers):
        conf = rules.a_conf(scheduler__workers=workers,
                            scheduler__driver=driver)
        assert supervisor.worker_count(conf) == len(os.sched_getaffinity(0))

    @pytest.mark.parametrize('driver', [
        'caching_scheduler', 'chance_scheduler', 'my.own.Driver'])
    def test_a_driver_that_keeps_state_has_one(self, driver):
        conf = rules.a_conf(scheduler__driver=driver)
        assert supervisor.worker_count(conf) == 1


class TestWorker:
    @pytest.fixture
    def notes(self):
        return Notes()

    @pytest.fixture
    def worker(self, notes, monkeypatch):
        """A worker whose service serves at once."""
        monkeypatch.setattr(supervisor, '_on_hangup', lambda act: None)
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            lambda self: self._serving.set())
        return supervisor.Worker(rules.a_conf(), notes)

    def test_is_ready_when_it_serves(self, worker, notes, signals):
        worker.start()
        assert notes.names == ['keep_alive', 'ready']
        assert not signals
        assert not worker.refused

    def test_is_not_ready_when_it_was_stopped_before(
            self, worker, notes, monkeypatch):
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            lambda self: None)
        worker.start()
        assert notes.names == ['keep_alive']

    def test_tells_what_it_waits_for(self, worker, notes):
        worker.waiting('the database')
        assert notes.told == [('waiting', 'the database')]

    def test_a_wrong_configuration_ends_the_whole_service(
            self, worker, notes, signals, monkeypatch):
        def refuse(self):
            raise exception.ConfigurationError('[x] y', 1, 'is wrong')
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            refuse)
        worker.start()
        assert signals == [(os.getppid(), signal.SIGTERM)]
        assert worker.refused
        assert 'ready' not in notes.names


class TestReload:
    @pytest.fixture
    def conf(self, monkeypatch):
        conf = rules.a_conf()
        conf.reloads = 0

        def reload_config_files():
            conf.reloads += 1
        monkeypatch.setattr(conf, 'reload_config_files', reload_config_files)
        return conf

    def test_a_good_configuration_goes_to_the_workers(self, conf, signals):
        notes = Notes()
        supervisor.Supervisor(conf, rules.a_conf, notes)._reload()
        assert conf.reloads == 1
        assert signals == [(0, signal.SIGHUP)]
        assert notes.names == ['reloading']

    @pytest.mark.parametrize('reread', [
        lambda: rules.a_conf(scheduler__driver='bogus'),
        lambda: rules.a_conf(enabled_filters=['RamFilters']),
        lambda: (_ for _ in ()).throw(
            exception.ConfigurationError('--config-file', 'x', 'is gone'))])
    def test_a_bad_configuration_changes_nothing(
            self, conf, signals, reread):
        notes = Notes()
        supervisor.Supervisor(conf, reread, notes)._reload()
        assert conf.reloads == 0
        assert not signals
        assert notes.names == ['reloading', 'ready']


def test_a_hangup_calls_the_thread_that_waits_for_it():
    """In a process of its own, all threads of which block the signal."""
    code = """if True:
        import os, signal, threading
        from nova_sched import supervisor
        called = threading.Event()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        supervisor._on_hangup(called.set)
        os.kill(os.getpid(), signal.SIGHUP)
        print(called.wait(5))
    """
    run = subprocess.run([sys.executable, '-c', code], check=True,
                         capture_output=True, text=True)
    assert run.stdout == 'True\n'
