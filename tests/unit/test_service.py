"""A service in this process: start, stop, broker and periodic work."""

import threading

import oslo_messaging
import pytest

from nova_sched import service
from nova_sched.scheduler import driver
from tests.builders.services import periodic_work
from tests.builders.services import select


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


class NoHosts(driver.Scheduler):
    """A driver without hosts."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, candidates=None):
        return []


class OwnHosts(NoHosts):
    """A driver with a host manager of its own."""

    host_manager = object()


class NoHostCount(NoHosts):
    """A driver that cannot count its hosts."""

    def host_count(self):
        raise LookupError('not read yet')

    @property
    def host_manager(self):
        raise LookupError('not read yet')


class TestStop:
    def test_gives_up_a_call_after_its_timeout(
            self, conf, running, monkeypatch, caplog):
        began, go_on = threading.Event(), threading.Event()

        def slowly(*args, **kwargs):
            began.set()
            go_on.wait(30)
            return []
        monkeypatch.setattr(running.driver, 'select_destinations', slowly)
        monkeypatch.setattr(threading, 'excepthook', lambda _: None)
        caller = threading.Thread(target=select, args=(conf,))
        caller.start()
        assert began.wait(10)
        conf.set_override('manager_shutdown_timeout', 0)
        running.stop()
        running.wait()
        assert 'Calls are still being answered' in caplog.text
        # Stop consuming for the following tests.
        conf.set_override('manager_shutdown_timeout', 60)
        go_on.set()
        running.stop()
        caller.join(10)


    def test_ends_despite_a_fault_of_the_server(
            self, running, monkeypatch, caplog):
        stop = running.server.stop

        def fault():
            stop()
            raise ZeroDivisionError
        monkeypatch.setattr(running.server, 'stop', fault)
        caplog.set_level('INFO')
        running.stop()
        assert 'Stopping the RPC server failed' in caplog.messages
        assert caplog.messages[-1].startswith('Stopped; calls in flight')

    def test_during_the_start_is_logged(self, conf, monkeypatch, caplog):
        scheduler = service.SchedulerService(conf)
        monkeypatch.setattr(service, 'START_GRACE', 0)
        monkeypatch.setattr(scheduler, '_warn_of_no_hosts', scheduler.stop)
        caplog.set_level('INFO')
        scheduler.start()
        assert caplog.messages[0].startswith('Starting ')
        assert 'Stopped before it could serve' in caplog.messages


@pytest.mark.parametrize(('driver_name', 'has_hosts', 'has_cells', 'lines'), [
    ('filter_scheduler', False, True, 1), ('filter_scheduler', True, True, 0),
    ('filter_scheduler', False, False, 0),
    # Third-party drivers may count hosts differently, or not at all.
    *[(f'{__name__}.{name}', True, True, 0)
      for name in ('OwnHosts', 'NoHosts', 'NoHostCount')]])
def test_start_warns_of_cells_without_hosts(
        conf, cloud, caplog, driver_name, has_hosts, has_cells, lines):
    conf.set_override('driver', driver_name, 'scheduler')
    if has_cells:
        conf.set_override('connection', cloud.url, 'api_database')
    if not has_hosts:
        cloud.execute('DELETE FROM compute_nodes')
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    scheduler.stop()
    assert caplog.text.count('No compute host was found') == lines


@pytest.mark.parametrize(('changed', 'intervals'), [
    ({'periodic_task_interval': 5}, [5]),
    ({'periodic_task_interval': 0}, [60]),
    ({'periodic_task_interval': -1}, []),
    ({'driver': 'filter_scheduler'}, []), ({'periodic_enable': False}, [])])
def test_periodic_work_of_a_driver_follows_the_options(
        conf, monkeypatch, changed, intervals):
    loops = periodic_work(monkeypatch)
    conf.set_override('driver', 'caching_scheduler', 'scheduler')
    for name, value in changed.items():
        conf.set_override(name, value, None if name == 'periodic_enable'
                          else 'scheduler')
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    scheduler.stop()
    assert [loop.options for loop in loops] == [
        {'interval': seconds, 'initial_delay': seconds,
         'stop_on_exception': False} for seconds in intervals]
    assert all(loop.stopped for loop in loops)


class TestBroker:
    @pytest.fixture
    def refusing(self, conf, monkeypatch):
        """Function of errors: the RPC server raises them, then serves."""
        def arrange(*errors):
            errors = list(errors)
            get_server = service.rpc.get_server

            def get_refusing_server(*args):
                server = get_server(*args)
                if errors:
                    error = errors.pop(0)
                    server.start = lambda: (_ for _ in ()).throw(error)
                return server
            monkeypatch.setattr(service.rpc, 'get_server', get_refusing_server)
            monkeypatch.setattr(service, 'BROKER_RETRY', 0.01)
        return arrange

    @pytest.mark.parametrize(('error', 'reason'), [
        (service.amqp.AccessRefused('wrong password'), 'wrong password'),
        (service.kombu.OperationalError(), 'OperationalError'),
        (ConnectionResetError('reset'), 'reset'),
        (oslo_messaging.MessageDeliveryFailure('no'), 'no')])
    def test_refusal_is_logged_and_retried(
            self, conf, refusing, caplog, error, reason):
        caplog.set_level('INFO')
        refusing(error, error)
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        assert scheduler.serving
        scheduler.stop()
        lines = [record.getMessage() for record in caplog.records
                 if record.levelname == 'ERROR']
        assert len(lines) == 2
        assert lines[0].startswith('The message broker at fake:// refuses '
                                   'this service, next try in 0 seconds: ')
        assert reason in lines[0]
        assert 'Connecting to the message broker at fake://' in caplog.text
        assert 'Serving requests on topic scheduler at fake:' in caplog.text

    @pytest.mark.parametrize('error', [
        RuntimeError("can't start new thread"),
        service.exception.ConfigurationError('option', 'as is', 'not so')])
    def test_other_error_ends_the_start(self, conf, refusing, error):
        refusing(error)
        with pytest.raises(type(error)) as raised:
            service.SchedulerService(conf).start()
        assert raised.value is error

    def test_silence_is_logged_every_five_seconds(self, caplog):
        waits = []

        class Answered:
            def wait(self, seconds):
                waits.append(seconds)
                return len(waits) == 2
        service._report_silence('rabbit://u:***@h/', Answered())
        assert waits == [5, 5]
        [line] = caplog.messages
        assert 'rabbit://u:***@h/ does not answer' in line
