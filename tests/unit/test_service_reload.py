"""A reload: the service replaces its driver while it serves."""

import logging
import threading

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import service
from nova_sched.scheduler import chance
from nova_sched.scheduler import filter_scheduler
from tests.builders import logging_files
from tests.builders import messages
from tests.builders.services import Loop
from tests.builders.services import periodic_work
from tests.builders.services import select
from tests.builders.services import wait_for


@pytest.fixture
def conf(cloud):
    cloud.load(hosts=2)
    return cloud.conf(DEFAULT__transport_url='fake://', DEFAULT__host='here')


@pytest.fixture
def running(conf):
    """A running service in this process; stopped afterwards."""
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    yield scheduler
    scheduler.stop()


def reloading():
    """The threads that retry a reload: list."""
    return [thread for thread in threading.enumerate()
            if thread.name == 'reload again']


def test_log_without_output_is_reported_on_stderr(
        running, conf, tmp_path, monkeypatch, capsys):
    conf.set_override('log_config_append', str(logging_files.a_file(tmp_path)))
    monkeypatch.setattr(conf, 'reload_config_files', lambda: True)
    monkeypatch.setattr(service.logs, 'setup', lambda conf: None)

    running.reset()

    assert capsys.readouterr().err.startswith(
        'nova-sched: warning: [DEFAULT] log_config_append = ')


class Watched(filter_scheduler.FilterScheduler):
    """A driver with periodic work that records its stop."""

    PERIODIC = True
    made = []

    def __init__(self, conf):
        super().__init__(conf)
        self.stopped = False
        self.made.append(self)

    def stop(self):
        self.stopped = True
        super().stop()


class Changes:
    """A stand-in for files that change after the start."""

    def __init__(self, conf, monkeypatch, **scheduler_options):
        def reload_config_files():
            for name, value in scheduler_options.items():
                conf.set_override(name, value, 'scheduler')
            return True
        monkeypatch.setattr(conf, 'reload_config_files', reload_config_files)
        # It would remove the handlers of caplog.
        monkeypatch.setattr(service.logs, 'setup', lambda *_: None)


class TestReset:
    @pytest.fixture
    def from_file(self, cloud, tmp_path):
        """(running service, its empty configuration file)"""
        path = tmp_path / 'nova.conf'
        path.touch()
        conf = config.new_conf([], [str(path)])
        conf.set_override('transport_url', 'fake://')
        conf.set_override('state_path', str(tmp_path))
        conf.set_override('connection', cloud.url, 'database')
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        yield scheduler, path
        scheduler.stop()

    def test_no_valid_host_text_follows_the_files(self, cloud, from_file):
        scheduler, path = from_file
        cloud.load(hosts=2)
        refusals = []
        for text in ('nova', 'full'):
            path.write_text(f'[nova_sched]\nno_valid_host_text = {text}\n')
            scheduler.reset()
            with pytest.raises(exception.NoValidHost) as refused:
                select(scheduler.conf, memory_mb=2 ** 30)
            refusals.append(str(refused.value).partition('available.')[2])

        assert refusals[0] == ''
        assert '(need 1073741824 MB, largest host ' in refusals[1]

    def test_decision_records_outlive_the_driver(
            self, conf, running, monkeypatch):
        """Each has the number of its configuration."""
        Changes(conf, monkeypatch)
        select(conf)
        running.reset()
        select(conf)
        messages.until_over(running.server)
        with running.recorder.reading() as store:
            assert [store.document(number)['configuration']
                    for number in (1, 2)] == [1, 2]

    def test_new_driver_takes_over_between_its_start_and_its_first_request(
            self, conf, running, monkeypatch):
        Changes(conf, monkeypatch)
        before, seen = running.driver, []
        monkeypatch.setattr(
            type(before), 'take_over',
            lambda self, predecessor: seen.append(
                (predecessor, running.driver, self.host_count())))
        running.reset()
        assert seen == [(before, before, 2)]
        assert running.driver is not before

    @pytest.mark.parametrize('text', [
        '[filter_scheduler]\nhost_subset_size = abc\n',
        '[DEFAULT]\ndebug = maybe\n', 'no configuration file',
        b'\x7fELF\xff\xfe',
        '[filter_scheduler]\nenabled_filters = RamFilters\n'])
    def test_invalid_file_leaves_the_old_driver_with_one_line(
            self, from_file, caplog, monkeypatch, text):
        scheduler, path = from_file
        # It would remove the handler of caplog.
        monkeypatch.setattr(service.logs, 'setup', lambda conf, *_: (
            conf.debug))
        before = scheduler.driver
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        caplog.clear()
        scheduler.reset()
        assert scheduler.driver is before
        assert len([line for line in caplog.records
                    if line.levelno >= logging.WARNING]) == 1

    @pytest.mark.parametrize('error', [
        OSError(2, 'No such file or directory', '/no/nova.log'),
        service.logging.LogConfigError('/etc/x', 'no section')])
    def test_log_error_leaves_the_old_driver_with_one_line(
            self, running, monkeypatch, caplog, error):
        def setup(conf):
            raise error
        monkeypatch.setattr(service.logs, 'setup', setup)
        before = running.driver
        running.reset()
        assert running.driver is before
        [line] = [line for line in caplog.records
                  if line.levelno >= logging.WARNING]
        assert str(error) in line.getMessage()
        assert not line.exc_info


class TestRefusedReload:
    """An error during the replacement of the driver."""

    @pytest.fixture
    def conf(self, conf):
        conf.set_override('driver', f'{__name__}.Watched', 'scheduler')
        conf.set_override('periodic_task_interval', 1000, 'scheduler')
        Watched.made.clear()
        return conf

    @pytest.fixture
    def loops(self, monkeypatch):
        return periodic_work(monkeypatch)

    @pytest.fixture
    def serving(self, conf, loops, monkeypatch):
        """A service with its first driver."""
        Changes(conf, monkeypatch)
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        yield scheduler
        scheduler.stop()

    def refused(self, scheduler, conf):
        """Reset; assert that the old driver stays, and the new one stops."""
        [old] = Watched.made
        scheduler.reset()
        _, fresh = Watched.made
        assert scheduler.driver is old
        assert not old.stopped
        assert fresh.stopped
        assert select(conf)[0] in ('host1', 'host2')

    @pytest.mark.parametrize('step', ['start', 'take_over'])
    @pytest.mark.parametrize('error', [
        RuntimeError('a surprise'),
        service.exception.ConfigurationError('[a] b', 'c', 'wrong')])
    def test_stops_the_new_driver_and_keeps_the_old_one(
            self, conf, serving, loops, caplog, monkeypatch, step, error):
        """Its periodic work continues, and the error is logged."""
        def fail(self, *args):
            raise error
        monkeypatch.setattr(Watched, step, fail)
        self.refused(serving, conf)
        first, *later = loops
        assert not first.stopped
        assert all(loop.stopped for loop in later)
        assert str(error) in caplog.text

    def test_keeps_the_old_driver_if_periodic_work_does_not_start(
            self, conf, serving, loops, monkeypatch):
        def fail(self, *args, **kwargs):
            raise RuntimeError("can't start new thread")
        monkeypatch.setattr(Loop, 'start', fail)
        self.refused(serving, conf)
        assert not loops[0].stopped

    def test_failing_stop_of_the_old_driver_is_no_refusal(
            self, conf, serving, loops, caplog, monkeypatch):
        [old] = Watched.made
        monkeypatch.setattr(old, 'stop', lambda: 1 / 0)
        serving.reset()
        assert serving.driver is Watched.made[1]
        assert [loop.stopped for loop in loops] == [True, False]
        assert 'Stopping a driver failed' in caplog.messages

    def test_successful_reload_ends_periodic_work_after_taking_over(
            self, conf, serving, loops, monkeypatch, caplog):
        caplog.set_level('INFO')
        seen = []
        monkeypatch.setattr(Watched, 'take_over', lambda *_: seen.append(
            loops[0].stopped))
        serving.reset()
        assert seen == [False]
        assert [loop.stopped for loop in loops] == [True, False]
        assert 'Configuration read again: ' in caplog.text


class TestReloadWithoutDatabase:
    @pytest.fixture
    def conf(self, conf):
        conf.set_override('retry_interval', 0, 'database')
        return conf

    @pytest.fixture
    def changed(self, conf, running, cloud, monkeypatch):
        """A service with a failed reload to a chance scheduler: no tables."""
        Changes(conf, monkeypatch, driver='chance_scheduler')
        cloud.execute('ALTER TABLE services RENAME TO gone')
        running.reset()
        return running

    @staticmethod
    def mend(cloud):
        cloud.execute('ALTER TABLE gone RENAME TO services')

    @staticmethod
    def lines(caplog):
        return [line.getMessage() for line in caplog.records
                if 'configuration yet' in line.getMessage()]

    def test_keeps_the_old_driver_and_retries(
            self, conf, changed, cloud, caplog):
        """Each attempt is a line."""
        assert type(changed.driver).__name__ == 'FilterScheduler'
        wait_for(lambda: self.lines(caplog))
        assert 'next try in 0 seconds' in self.lines(caplog)[0]
        wait_for(lambda: len(self.lines(caplog)) >= 3)
        self.mend(cloud)
        wait_for(lambda: type(changed.driver).__name__ == 'ChanceScheduler')
        assert select(conf)[0] in ('host1', 'host2')
        wait_for(lambda: not reloading())

    def test_is_cancelled_by_a_newer_reload(
            self, conf, changed, cloud, monkeypatch):
        self.mend(cloud)
        Changes(conf, monkeypatch, driver='caching_scheduler')
        changed.reset()
        newest = changed.driver
        wait_for(lambda: not reloading())
        assert type(newest).__name__ == 'CachingScheduler'
        assert changed.driver is newest

    def test_continues_if_a_newer_file_is_invalid(
            self, conf, changed, cloud, monkeypatch):
        monkeypatch.setattr(conf, 'reload_config_files', lambda: False)
        changed.reset()
        self.mend(cloud)
        wait_for(lambda: type(changed.driver).__name__ == 'ChanceScheduler')

    def test_retries_end_with_the_service(self, changed):
        changed.stop()
        wait_for(lambda: not reloading())

    def test_attempt_during_a_stop_has_no_effect(
            self, conf, changed, cloud, monkeypatch):
        """A driver that is ready too late is stopped."""
        ready, go_on, stopped = (threading.Event() for _ in range(3))

        def slowly(self):
            ready.set()
            assert go_on.wait(10)
        cls = chance.ChanceScheduler
        monkeypatch.setattr(cls, 'start', slowly)
        monkeypatch.setattr(cls, 'stop', lambda self: stopped.set())
        assert ready.wait(10)
        changed.stop()
        go_on.set()
        assert stopped.wait(10)
        assert type(changed.driver).__name__ == 'FilterScheduler'
