"""A service that reads its configuration again while it serves."""

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
from tests.builders.services import select
from tests.builders.services import wait_for


@pytest.fixture
def conf(cloud):
    cloud.load(hosts=2)
    return cloud.conf(DEFAULT__transport_url='fake://',
                      DEFAULT__host='here')


@pytest.fixture
def running(conf):
    """A service in this process that serves; stopped afterwards."""
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    yield scheduler
    scheduler.stop()


def reloading():
    """The threads that try to reload again: list."""
    return [thread for thread in threading.enumerate()
            if thread.name == 'reload again']


def test_a_log_that_leads_nowhere_from_now_on_is_told_on_stderr(
        running, conf, tmp_path, monkeypatch, capsys):
    conf.set_override('log_config_append',
                      str(logging_files.a_file(tmp_path)))
    monkeypatch.setattr(conf, 'reload_config_files', lambda: True)
    monkeypatch.setattr(service.logs, 'setup', lambda conf: None)

    running.reset()

    assert capsys.readouterr().err.startswith(
        'nova-sched: warning: [DEFAULT] log_config_append = ')


class Watched(filter_scheduler.FilterScheduler):
    """Tells whether it was stopped, and wants periodic work."""

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
    """Stands in for files: what they say after the start."""

    def __init__(self, conf, monkeypatch, **scheduler_options):
        def reload_config_files():
            for name, value in scheduler_options.items():
                conf.set_override(name, value, 'scheduler')
            return True
        monkeypatch.setattr(conf, 'reload_config_files', reload_config_files)
        # It would take the handlers away that see the lines.
        monkeypatch.setattr(service.logs, 'setup', lambda *_: None)


class TestReset:
    @pytest.fixture
    def from_file(self, cloud, tmp_path):
        """(a service that serves, the empty file it was configured by)"""
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

    def test_the_driver_is_rebuilt_from_the_files(
            self, conf, running, monkeypatch):
        Changes(conf, monkeypatch, driver='chance_scheduler')
        before = running.driver
        running.reset()
        assert running.driver is not before
        assert type(running.driver).__name__ == 'ChanceScheduler'
        assert select(conf)[0] in ('host1', 'host2')

    def test_what_callers_are_told_of_no_host_is_read_again(
            self, cloud, from_file):
        scheduler, path = from_file
        cloud.load(hosts=2)
        refusals = []
        for text in ('nova', 'full', 'counts', 'filters'):
            path.write_text(f'[nova_sched]\nno_valid_host_text = {text}\n')
            scheduler.reset()
            with pytest.raises(exception.NoValidHost) as refused:
                select(scheduler.conf, memory_mb=2 ** 30)
            refusals.append(str(refused.value).partition('available.')[2])

        assert refusals[0] == ''
        assert '(need 1073741824 MB, largest host ' in refusals[1]
        assert '(need 1073741824 MB)' in refusals[2]
        assert refusals[3] == ''

    def test_records_of_decisions_outlive_the_driver(
            self, conf, running, monkeypatch):
        """And tell by which configuration each was made."""
        Changes(conf, monkeypatch)
        select(conf)
        running.reset()
        select(conf)
        messages.until_over(running.server)
        with running.recorder.reading() as store:
            assert [store.document(number)['configuration']
                    for number in (1, 2)] == [1, 2]

    def test_a_driver_that_cannot_be_built_leaves_the_old_one(
            self, conf, running, monkeypatch):
        Changes(conf, monkeypatch, driver='no_such_driver')
        before = running.driver
        running.reset()
        assert running.driver is before
        assert select(conf)[0] in ('host1', 'host2')

    def test_the_new_driver_takes_over_from_the_one_that_serves(
            self, conf, running, monkeypatch):
        """After its own start, and before it gets requests."""
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
    def test_a_file_that_cannot_be_used_leaves_the_old_driver(
            self, from_file, caplog, monkeypatch, text):
        """With one line that says so."""
        scheduler, path = from_file
        # It would take the handlers away that see the line.
        monkeypatch.setattr(service.logs, 'setup', lambda conf, *_: (
            conf.debug))
        before = scheduler.driver
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        caplog.clear()
        scheduler.reset()
        assert scheduler.driver is before
        assert len([line for line in caplog.records
                    if line.levelno >= logging.WARNING]) == 1


    def test_what_is_refused_is_named_as_the_file_does(
            self, from_file, caplog, monkeypatch):
        scheduler, path = from_file
        monkeypatch.setattr(service.logs, 'setup', lambda *_: None)
        path.write_text('[DEFAULT]\nscheduler_default_filters = RamFilters\n')
        scheduler.reset()

        assert "[DEFAULT] scheduler_default_filters = 'RamFilters'" in (
            caplog.text)

    @pytest.mark.parametrize('error', [
        OSError(2, 'No such file or directory', '/no/nova.log'),
        service.logging.LogConfigError('/etc/x', 'no section')])
    def test_a_log_that_cannot_be_opened_leaves_the_old_driver(
            self, running, monkeypatch, caplog, error):
        """With one line that says so, and without a traceback."""
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
    """Something fails on the way from the old driver to the new one."""

    @pytest.fixture
    def conf(self, conf):
        conf.set_override('driver', f'{__name__}.Watched', 'scheduler')
        conf.set_override('periodic_task_interval', 1000, 'scheduler')
        Watched.made.clear()
        return conf

    @pytest.fixture
    def loops(self, monkeypatch):
        """Periodic work, in the order it began: [Loop]."""
        begun = []

        class Loop(service.LoopingCall):
            stopped = False

            def start(self, *args, **kwargs):
                begun.append(self)
                super().start(*args, **kwargs)

            def stop(self):
                self.stopped = True
                super().stop()
        monkeypatch.setattr(service, 'LoopingCall', Loop)
        return begun

    @pytest.fixture
    def serving(self, conf, loops, monkeypatch):
        """A service on its first driver."""
        Changes(conf, monkeypatch)
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        yield scheduler
        scheduler.stop()

    def refused(self, scheduler, conf):
        """Reset; asserts that the old driver stays, and the new one went."""
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
        """Also its periodic work; the log says what was raised."""
        def fail(self, *args):
            raise error
        monkeypatch.setattr(Watched, step, fail)
        self.refused(serving, conf)
        first, *later = loops
        assert not first.stopped
        assert all(loop.stopped for loop in later)
        assert str(error) in caplog.text

    def test_is_that_without_periodic_work_too(
            self, conf, serving, loops, monkeypatch):
        def fail(self, *args, **kwargs):
            raise RuntimeError("can't start new thread")
        monkeypatch.setattr(service.LoopingCall, 'start', fail)
        self.refused(serving, conf)
        assert [loop.stopped for loop in loops] == [False]

    def test_is_none_because_the_old_driver_does_not_stop(
            self, conf, serving, loops, caplog, monkeypatch):
        [old] = Watched.made
        monkeypatch.setattr(old, 'stop', lambda: 1 / 0)
        serving.reset()
        assert serving.driver is Watched.made[1]
        assert [loop.stopped for loop in loops] == [True, False]
        assert 'ZeroDivisionError' in caplog.text

    def test_that_works_ends_the_old_periodic_work_after_taking_over(
            self, conf, serving, loops, monkeypatch):
        seen = []
        monkeypatch.setattr(Watched, 'take_over', lambda *_: seen.append(
            loops[0].stopped))
        serving.reset()
        assert seen == [False]
        assert [loop.stopped for loop in loops] == [True, False]


class TestReloadWithoutDatabase:
    @pytest.fixture
    def conf(self, conf):
        conf.set_override('retry_interval', 0, 'database')
        return conf

    @pytest.fixture
    def changed(self, conf, running, cloud, monkeypatch):
        """A service that was to become a chance scheduler's; no tables."""
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

    def test_keeps_the_old_driver_and_says_so(self, changed, caplog):
        """And when it is tried again."""
        assert type(changed.driver).__name__ == 'FilterScheduler'
        wait_for(lambda: self.lines(caplog))
        assert 'next try in 0 seconds' in self.lines(caplog)[0]

    def test_is_tried_again_until_it_works(
            self, conf, changed, cloud, caplog):
        """With a line a try."""
        wait_for(lambda: len(self.lines(caplog)) >= 3)
        self.mend(cloud)
        wait_for(lambda: type(changed.driver).__name__ == 'ChanceScheduler')
        assert select(conf)[0] in ('host1', 'host2')
        wait_for(lambda: not reloading())

    def test_is_not_tried_again_after_a_newer_reload(
            self, conf, changed, cloud, monkeypatch):
        self.mend(cloud)
        Changes(conf, monkeypatch, driver='caching_scheduler')
        changed.reset()
        newest = changed.driver
        wait_for(lambda: not reloading())
        assert type(newest).__name__ == 'CachingScheduler'
        assert changed.driver is newest

    def test_goes_on_when_a_newer_file_cannot_be_read(
            self, conf, changed, cloud, monkeypatch):
        monkeypatch.setattr(conf, 'reload_config_files', lambda: False)
        changed.reset()
        self.mend(cloud)
        wait_for(lambda: type(changed.driver).__name__ == 'ChanceScheduler')

    def test_ends_with_the_service(self, changed):
        changed.stop()
        wait_for(lambda: not reloading())

    def test_is_not_begun_once_it_is_not_wanted(
            self, changed, cloud, monkeypatch):
        """By a newer reload, or by a stop."""
        self.mend(cloud)
        monkeypatch.setattr(changed, '_replace_driver', pytest.fail)
        outdated = threading.Event()
        outdated.set()
        assert changed._replaced(outdated)
        changed._outdated.set()
        changed._stopping.set()
        assert changed._replaced(threading.Event())

    def test_does_not_outlive_a_stop_while_it_is_tried(
            self, conf, changed, cloud, monkeypatch):
        """A driver that became ready too late is stopped."""
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
