import threading

import oslo_messaging
import pytest

from nova_sched import service
from nova_sched.scheduler import driver
from tests.builders import cloud_database
from tests.builders import rules
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


@pytest.fixture
def unreachable(tmp_path):
    """A configuration whose database has no tables, tried again at once."""
    return rules.a_conf(
        DEFAULT__transport_url='fake://',
        database__connection=f'sqlite:///{tmp_path}/empty.sqlite',
        database__max_retries=0, database__retry_interval=0.01)


class NoHosts(driver.Scheduler):
    """A driver with no idea of hosts."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, candidates=None):
        return []


class OwnHosts(NoHosts):
    """A driver that keeps hosts in a way of its own."""

    host_manager = object()


class NoHostCount(NoHosts):
    """A driver that cannot say how many hosts there are."""

    def host_count(self):
        raise LookupError('not read yet')

    @property
    def host_manager(self):
        raise LookupError('not read yet')


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
        # No later test's calls are for it.
        conf.set_override('manager_shutdown_timeout', 60)
        running.stop()


class TestHosts:
    """That there are none where cells are mapped is told at the start."""

    @pytest.fixture
    def warnings(self, conf, caplog):
        def start(api_database):
            conf.set_override('connection', api_database, 'api_database')
            scheduler = service.SchedulerService(conf)
            scheduler.start()
            scheduler.stop()
            return [line.getMessage() for line in caplog.records
                    if 'No compute host was found' in line.getMessage()]
        return start

    def test_in_no_cell_are_missed(self, cloud, warnings):
        cloud.execute('DELETE FROM compute_nodes')
        assert len(warnings(cloud.url)) == 1

    def test_in_an_empty_cloud_without_cells_are_not(self, cloud, warnings):
        cloud.execute('DELETE FROM compute_nodes')
        assert warnings(None) == []

    def test_in_a_cell_are_enough(self, cloud, warnings):
        assert warnings(cloud.url) == []

    @pytest.mark.parametrize('cls', ['OwnHosts', 'NoHosts', 'NoHostCount'])
    def test_that_a_third_partys_driver_knows_are_its_own_affair(
            self, conf, cloud, warnings, cls):
        conf.set_override('driver', f'{__name__}.{cls}', 'scheduler')
        assert warnings(cloud.url) == []


class TestPeriodicWork:
    @pytest.fixture
    def rounds(self, conf, monkeypatch):
        """Seconds between rounds of a caching service's periodic work."""
        conf.set_override('driver', 'caching_scheduler', 'scheduler')
        started = []

        class Loop:
            def __init__(self, work, *args):
                self.work, self.args = work, args

            def start(self, interval, initial_delay, stop_on_exception):
                started.append(interval)
                assert initial_delay == interval
                assert not stop_on_exception
                self.work(*self.args)

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

    @pytest.mark.parametrize('error', [
        RuntimeError("can't start new thread"),
        service.exception.ConfigurationError('option', 'as is', 'not so')])
    def test_any_other_error_ends_the_start(self, conf, refusing, error):
        refusing(error)
        with pytest.raises(type(error)) as raised:
            service.SchedulerService(conf).start()
        assert raised.value is error

    def test_silence_is_told_until_an_answer(self, monkeypatch):
        lines = []
        answered = threading.Event()
        monkeypatch.setattr(service, 'BROKER_PATIENCE', 0.001)
        monkeypatch.setattr(service.LOG, 'warning', lambda text, url: (
            lines.append(text % url), answered.set()))
        service._report_silence('rabbit://u:***@h/', answered)
        assert len(lines) == 1
        assert 'rabbit://u:***@h/ does not answer' in lines[0]

    def test_silence_is_told_every_five_seconds(self):
        waits = []

        class Answered:
            def wait(self, seconds):
                waits.append(seconds)
                return True
        service._report_silence('rabbit://h/', Answered())
        assert waits == [5]

    def test_a_refusal_costs_a_line_and_ten_seconds(
            self, conf, monkeypatch, caplog):
        refusals, slept = ['wrong password', None], []
        scheduler = service.SchedulerService(conf)
        monkeypatch.setattr(scheduler, '_refusal',
                            lambda url: refusals.pop(0))
        monkeypatch.setattr(scheduler, '_sleep', slept.append)
        scheduler._start_server()
        scheduler._transport.cleanup()
        assert slept == [10]
        assert scheduler.serving
        [line] = [record.getMessage() for record in caplog.records
                  if record.levelname == 'ERROR']
        assert line == (
            'The message broker at fake:// refuses this service, next try in '
            '10 seconds: wrong password')

    @pytest.mark.parametrize(('error', 'words'), [
        (ConnectionResetError('reset'), 'reset'),
        (ConnectionResetError(), 'ConnectionResetError')])
    def test_a_refusal_is_told_in_the_broker_s_words(
            self, conf, refusing, error, words):
        refusing(error)
        scheduler = service.SchedulerService(conf)
        scheduler.waiting = pytest.fail
        scheduler._transport = service.rpc.get_transport(conf)
        scheduler._manager = None
        assert scheduler._refusal('fake://') == words
        scheduler._transport.cleanup()


def test_calls_that_take_too_long_keep_no_process_from_ending(
        running, monkeypatch, caplog):
    """They are given up, and a line says so."""
    go_on, waiting = threading.Event(), []

    def answer():
        waiting.append(threading.current_thread())
        go_on.wait(30)
    monkeypatch.setattr(running, '_answer', answer)

    running._drain(0.01)

    assert 'Calls are still being answered' in caplog.text
    wait_for(lambda: waiting)
    assert waiting[0].is_alive()
    assert waiting[0].daemon
    go_on.set()
