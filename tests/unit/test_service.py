import logging
import threading

import oslo_messaging
import pytest

from nova_sched import conf as config
from nova_sched import context
from nova_sched import service
from nova_sched.scheduler import rpcapi
from tests.builders import cloud_database
from tests.builders import requests
from tests.builders import rules


@pytest.fixture(scope='module')
def tables(tmp_path_factory):
    return cloud_database.make_tables(tmp_path_factory.mktemp('tables'))


@pytest.fixture
def cloud(tables, tmp_path):
    database = cloud_database.CloudDatabase(tables, tmp_path)
    database.load(hosts=2)
    yield database
    database.close()


@pytest.fixture
def conf(cloud):
    return cloud.conf(DEFAULT__transport_url='fake://',
                      DEFAULT__host='here')


@pytest.fixture
def running(conf):
    """A service in this process that serves; stopped afterwards."""
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    yield scheduler
    scheduler.stop()


@pytest.fixture
def unreachable(tmp_path):
    """A configuration whose database has no tables, tried again at once."""
    return rules.a_conf(
        DEFAULT__transport_url='fake://',
        database__connection=f'sqlite:///{tmp_path}/empty.sqlite',
        database__max_retries=0, database__retry_interval=0.01)


def select(conf):
    """The hosts that a call over the transport selects."""
    answer = rpcapi.SchedulerAPI(conf).select_destinations(
        context.RequestContext(), requests.a_request(),
        [requests.INSTANCE_UUID], return_objects=True)
    return [chosen[0].service_host for chosen in answer]


class Changes:
    """Stands in for files: what they say after the start."""

    def __init__(self, conf, monkeypatch, **scheduler_options):
        def reload_config_files():
            for name, value in scheduler_options.items():
                conf.set_override(name, value, 'scheduler')
            return True
        monkeypatch.setattr(conf, 'reload_config_files', reload_config_files)


class TestStart:
    def test_a_started_service_answers_calls(self, conf, running):
        assert running.serving
        assert select(conf)[0] in ('host1', 'host2')

    def test_the_database_may_come_after_the_service(
            self, unreachable, tmp_path):
        """A start without tables waits, and goes on when they are there."""
        waiting = threading.Event()
        scheduler = service.SchedulerService(unreachable)
        scheduler.waiting = lambda what: waiting.set()
        thread = threading.Thread(target=scheduler.start)
        thread.start()
        assert waiting.wait(10)
        assert not scheduler.serving
        cloud_database.make_tables(tmp_path).rename(
            tmp_path / 'empty.sqlite')
        thread.join(10)
        assert scheduler.serving
        scheduler.stop()

    def test_a_start_that_waits_can_be_stopped(self, unreachable):
        scheduler = service.SchedulerService(unreachable)
        thread = threading.Thread(target=scheduler.start)
        thread.start()
        scheduler.stop()
        thread.join(10)
        assert not thread.is_alive()
        assert not scheduler.serving

    def test_wait_returns_when_the_service_has_stopped(self, running):
        waiting = threading.Thread(target=running.wait)
        waiting.start()
        assert waiting.is_alive()
        running.stop()
        waiting.join(10)
        assert not waiting.is_alive()


class TestStop:
    def test_a_call_in_flight_is_answered(self, conf, running, monkeypatch):
        began, go_on = threading.Event(), threading.Event()
        decide = running.driver.select_destinations

        def slowly(*args, **kwargs):
            began.set()
            assert go_on.wait(10)
            return decide(*args, **kwargs)
        monkeypatch.setattr(running.driver, 'select_destinations', slowly)
        answers = []
        caller = threading.Thread(
            target=lambda: answers.append(select(conf)))
        caller.start()
        assert began.wait(10)
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        go_on.set()
        stopping.join(10)
        caller.join(10)
        assert len(answers) == 1

    def test_a_call_that_takes_too_long_is_given_up(
            self, conf, running, monkeypatch):
        conf.set_override('manager_shutdown_timeout', 0)
        began, go_on = threading.Event(), threading.Event()

        def for_ever(*args, **kwargs):
            began.set()
            assert go_on.wait(30)
            return []
        monkeypatch.setattr(running.driver, 'select_destinations', for_ever)
        caller = threading.Thread(target=select, args=(conf,))
        caller.start()
        assert began.wait(10)
        running.stop()
        running.wait()
        go_on.set()
        caller.join(10)


class TestReset:
    @pytest.fixture
    def from_file(self, cloud, tmp_path):
        """(a service that serves, the empty file it was configured by)"""
        path = tmp_path / 'nova.conf'
        path.touch()
        conf = config.new_conf([], [str(path)])
        conf.set_override('transport_url', 'fake://')
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

    def test_a_driver_that_cannot_be_built_leaves_the_old_one(
            self, conf, running, monkeypatch):
        Changes(conf, monkeypatch, driver='no_such_driver')
        before = running.driver
        running.reset()
        assert running.driver is before
        assert select(conf)[0] in ('host1', 'host2')

    def test_a_database_that_is_gone_leaves_the_old_driver(
            self, conf, running, cloud, monkeypatch):
        Changes(conf, monkeypatch)
        before = running.driver
        cloud.execute('ALTER TABLE services RENAME TO gone')
        running.reset()
        assert running.driver is before


    def test_the_new_driver_takes_over_from_the_one_that_serves(
            self, conf, running, monkeypatch):
        """After its own start, and before it gets requests."""
        Changes(conf, monkeypatch)
        before, seen = running.driver, []
        monkeypatch.setattr(
            type(before), 'take_over',
            lambda self, predecessor: seen.append(
                (predecessor, running.driver,
                 self.host_manager.cache.current().size)))
        running.reset()
        assert seen == [(before, before, 2)]
        assert running.driver is not before

    @pytest.mark.parametrize('text', [
        '[filter_scheduler]\nhost_subset_size = abc\n',
        '[DEFAULT]\ndebug = maybe\n', 'no configuration file',
        '[filter_scheduler]\nenabled_filters = RamFilters\n'])
    def test_a_file_that_cannot_be_used_leaves_the_old_driver(
            self, from_file, caplog, monkeypatch, text):
        """With one line that says so."""
        scheduler, path = from_file
        # It would take the handlers away that see the line.
        monkeypatch.setattr(service.logging, 'setup', lambda conf, *_: (
            conf.debug))
        before = scheduler.driver
        path.write_text(text)
        caplog.clear()
        scheduler.reset()
        assert scheduler.driver is before
        assert len([line for line in caplog.records
                    if line.levelno >= logging.WARNING]) == 1


class TestHosts:
    """That there are none where [database] leads is told at the start."""

    @pytest.fixture
    def warnings(self, conf, caplog):
        def start(api_database):
            conf.set_override('connection', api_database, 'api_database')
            scheduler = service.SchedulerService(conf)
            scheduler.start()
            scheduler.stop()
            return [line.getMessage() for line in caplog.records
                    if 'no compute host in [database]' in line.getMessage()]
        return start

    def test_in_the_database_of_cell0_are_missed(self, cloud, warnings):
        cloud.execute('DELETE FROM compute_nodes')
        assert len(warnings(cloud.url)) == 1

    def test_in_an_empty_cloud_without_cells_are_not(self, cloud, warnings):
        cloud.execute('DELETE FROM compute_nodes')
        assert warnings(None) == []

    def test_in_the_database_of_their_cell_are_enough(self, cloud, warnings):
        assert warnings(cloud.url) == []


class TestPeriodicWork:
    @pytest.fixture
    def rounds(self, conf, monkeypatch):
        """Seconds between rounds of a caching service's periodic work."""
        conf.set_override('driver', 'caching_scheduler', 'scheduler')
        started = []

        class Loop:
            def __init__(self, work):
                self.work = work

            def start(self, interval, initial_delay, stop_on_exception):
                started.append(interval)
                assert initial_delay == interval
                assert not stop_on_exception
                self.work()

            def stop(self):
                started.append('stopped')
        monkeypatch.setattr(service, 'LoopingCall', Loop)

        def run(interval):
            conf.set_override('periodic_task_interval', interval, 'scheduler')
            scheduler = service.SchedulerService(conf)
            scheduler.start()
            scheduler.stop()
            return started
        return run

    @pytest.mark.parametrize('option, interval', [(5, 5), (0, 60)])
    def test_runs_every_so_many_seconds_until_the_stop(
            self, rounds, option, interval):
        assert rounds(option) == [interval, 'stopped']

    def test_a_negative_interval_turns_it_off(self, rounds):
        assert rounds(-1) == []

    def test_periodic_enable_turns_it_off(self, conf, rounds):
        conf.set_override('periodic_enable', False)
        assert rounds(60) == []

    def test_a_driver_that_keeps_no_state_has_none(self, conf, rounds):
        conf.set_override('driver', 'filter_scheduler', 'scheduler')
        assert rounds(60) == []


class TestBroker:
    @pytest.fixture
    def refusing(self, conf, monkeypatch):
        """Replace the RPC server: refuses with these errors, then serves."""
        def arrange(*errors):
            errors = list(errors)
            get_server = service.rpc.get_server

            def get_refusing_server(*args):
                server = get_server(*args)
                if errors:
                    error = errors.pop(0)
                    server.start = lambda: (_ for _ in ()).throw(error)
                return server
            monkeypatch.setattr(service.rpc, 'get_server',
                                get_refusing_server)
            monkeypatch.setattr(service, 'BROKER_RETRY', 0.01)
        return arrange

    @pytest.mark.parametrize('error', [
        service.amqp.AccessRefused('wrong password'),
        service.kombu.OperationalError(),
        ConnectionResetError('reset'),
        oslo_messaging.MessageDeliveryFailure('no')])
    def test_a_refusal_is_retried(self, conf, refusing, error):
        refusing(error, error)
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        assert scheduler.serving
        scheduler.stop()

    def test_contradicting_options_are_a_configuration_error(
            self, conf, refusing):
        refusing(RuntimeError('rabbit_stream_fanout needs ...'))
        with pytest.raises(service.exception.ConfigurationError,
                           match='rabbit_stream_fanout needs'):
            service.SchedulerService(conf).start()

    def test_silence_is_told_until_an_answer(self, monkeypatch):
        lines = []
        answered = threading.Event()
        monkeypatch.setattr(service, 'BROKER_PATIENCE', 0.001)
        monkeypatch.setattr(service.LOG, 'warning', lambda text, url: (
            lines.append(text % url), answered.set()))
        service._report_silence('rabbit://u:***@h/', answered)
        assert len(lines) == 1
        assert 'rabbit://u:***@h/ does not answer' in lines[0]
