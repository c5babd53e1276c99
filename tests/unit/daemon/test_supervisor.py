import os
import signal
import time
import types

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.daemon import sighup
from nova_sched.daemon import supervisor
from tests.builders import rules


class Notes:
    """A notifier that remembers."""

    watchdog = None

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return lambda *args: self.told.append((name, *args))

    @property
    def names(self):
        return [name for name, *_ in self.told]


class Hangup(sighup.SighupHandler):
    """SIGHUP, which comes when it is called."""

    def call_on_sighup(self, act):
        self._act = act

    def __call__(self):
        self._take(self._act)


@pytest.fixture
def signals(monkeypatch):
    """Signals that were sent, instead of sending them."""
    sent = []
    monkeypatch.setattr(os, 'kill', lambda pid, sig: sent.append((pid, sig)))
    monkeypatch.setattr(os, 'killpg', lambda pid, sig: sent.append((pid, sig)))
    return sent


class TestWorker:
    @pytest.fixture
    def notes(self):
        return Notes()

    @pytest.fixture
    def worker(self, notes, monkeypatch):
        """A worker whose service serves at once."""
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            lambda self: self._serving.set())
        supervisor.gc.unfreeze()
        yield supervisor.Worker(rules.a_conf(), notes, Hangup())
        supervisor.gc.unfreeze()

    def test_is_ready_when_it_serves(self, worker, notes, signals):
        worker.start()
        assert notes.names == ['ready']
        assert not signals
        assert not worker.refused

    def test_reads_its_files_again_at_each_hangup_once_it_serves(
            self, worker, monkeypatch):
        """Those before come to one then; the log is not for the start alone.
        """
        acts, sighup_handler = [], worker._sighup
        monkeypatch.setattr(supervisor.service.SchedulerService, 'reset',
                            lambda self: acts.append(self.serving))

        def start(self):
            sighup_handler()
            sighup_handler()
            assert acts == []
            self._serving.set()
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            start)
        worker.start()
        assert acts == [True]
        sighup_handler()
        assert acts == [True, True]

    def test_what_is_there_to_stay_the_collector_looks_through_no_more(
            self, worker, monkeypatch):
        collected = []
        monkeypatch.setattr(supervisor.gc, 'collect',
                            lambda: collected.append(
                                supervisor.gc.get_freeze_count()))
        worker.start()
        assert supervisor.gc.get_freeze_count() > 0
        assert collected == [0]

    def test_beats_and_watches_for_reports_from_its_start_on(
            self, worker, monkeypatch):
        begun = []
        monkeypatch.setattr(supervisor.guru, 'watch_file', begun.append)
        monkeypatch.setattr(worker.watchdog, 'beat_while',
                            lambda *args: begun.append(args))
        worker.start()
        assert begun == [worker.conf, (worker.alive, worker._stopped)]

    def test_is_not_ready_when_it_was_stopped_before(
            self, worker, notes, monkeypatch):
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            lambda self: None)
        worker.start()
        assert notes.names == []

    @pytest.mark.parametrize(('turned', 'alive'), [
        (None, True), (0, True), (20, True), (40, False), (10 ** 6, False)])
    def test_is_alive_while_it_looks_for_requests(self, worker, turned, alive):
        """turned: seconds since it has, of the sixty for the parent, too."""
        worker.start()
        worker.server = types.SimpleNamespace(
            turned=None if turned is None else time.monotonic() - turned)
        assert worker.alive() is alive

    def test_is_alive_on_its_way_to_serve_and_to_stop(self, worker):
        assert worker.alive()
        worker.start()
        worker._stopping.set()
        assert worker.alive()

    def test_tells_what_it_waits_for(self, worker, notes):
        worker.waiting('the database')
        assert notes.told == [('waiting', 'the database')]

    def test_a_wrong_configuration_ends_the_whole_service(
            self, worker, notes, signals, monkeypatch):
        def refuse(self):
            raise exception.ConfigurationError('[x] y', 1, 'is wrong')
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            refuse)
        # As in a fork of this process, where the worker was made.
        monkeypatch.setattr(os, 'getppid', os.getpid)
        worker.start()
        assert signals == [(os.getpid(), signal.SIGTERM)]
        assert worker.refused
        assert 'ready' not in notes.names

    def test_a_worker_without_its_parent_ends_nobody_else(
            self, worker, signals, monkeypatch):
        """The parent of an orphan is process 1."""
        def refuse(self):
            raise exception.ConfigurationError('[x] y', 1, 'is wrong')
        monkeypatch.setattr(supervisor.service.SchedulerService, 'start',
                            refuse)
        monkeypatch.setattr(os, 'getppid', lambda: 1)
        worker.start()
        assert signals == []

    def test_is_ready_again_whatever_reading_the_files_again_comes_to(
            self, worker, notes, monkeypatch):
        def fail(self):
            raise ZeroDivisionError
        monkeypatch.setattr(supervisor.service.SchedulerService, 'reset',
                            fail)
        with pytest.raises(ZeroDivisionError):
            worker.reset()
        assert notes.names == ['ready']


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
        parent = supervisor.Supervisor(conf, rules.a_conf, notes)
        parent._reload()
        assert conf.reloads == 1
        assert signals == [(0, signal.SIGHUP)]
        assert not parent._sighup.words.refused
        assert notes.names == ['reloading']

    def test_a_surprise_leaves_the_service_ready(self, conf, signals):
        def surprise():
            raise ZeroDivisionError
        notes = Notes()
        parent = supervisor.Supervisor(conf, surprise, notes)
        with pytest.raises(ZeroDivisionError):
            parent._reload()
        assert parent._sighup.words.refused
        assert notes.names == ['reloading', 'ready']

    @pytest.mark.parametrize('text', [
        '[DEFAULT]\ndebug = maybe\n', 'no configuration file',
        b'\x7fELF\xff\xfe', '[filter_scheduler]\nhost_subset_size = abc\n'])
    def test_a_bad_file_changes_nothing(
            self, conf, signals, tmp_path, caplog, text):
        path = tmp_path / 'nova.conf'
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        notes = Notes()
        parent = supervisor.Supervisor(
            conf, lambda: config.new_conf(['--config-file', str(path)]), notes)
        parent._reload()
        assert conf.reloads == 0
        assert parent._sighup.words.refused
        assert notes.names == ['reloading', 'ready']
        assert caplog.text.count('Not reloading: ') == 1

    @pytest.mark.parametrize('reread', [
        lambda: rules.a_conf(scheduler__driver='bogus'),
        lambda: rules.a_conf(enabled_filters=['RamFilters']),
        lambda: (_ for _ in ()).throw(
            exception.ConfigurationError('--config-file', 'x', 'is gone'))])
    def test_a_bad_configuration_changes_nothing(
            self, conf, signals, reread):
        """Processes learn of the signal all the same, for their logs."""
        notes = Notes()
        parent = supervisor.Supervisor(conf, reread, notes)
        parent._reload()
        assert conf.reloads == 0
        assert signals == [(0, signal.SIGHUP)]
        assert parent._sighup.words.refused
        assert notes.names == ['reloading', 'ready']
