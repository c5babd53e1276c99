"""Periodic work: the service record, and the discovery of hosts."""

import itertools
import logging
import threading
import time

import pytest

from nova_sched import exception
from nova_sched import service
from nova_sched.db import background_tasks
from nova_sched.db import cells
from nova_sched.db import discovery
from nova_sched.db import services
from nova_sched.shared_region import SharedRegion
from tests.builders import clouds
from tests.builders.forks import in_worker
from tests.builders.full_disk import full_disk
from tests.builders.services import select
from tests.builders.services import wait_for

HOST = 'here'
COUNT = 'SELECT report_count FROM services WHERE host = ?'


@pytest.fixture
def conf(cloud):
    cloud.load(hosts=2)
    return cloud.conf(DEFAULT__transport_url='fake://', DEFAULT__host=HOST)


@pytest.fixture
def quick(conf, monkeypatch):
    """The configuration, with a first heartbeat at once."""
    monkeypatch.setattr(background_tasks, 'FIRST_BEAT', 0.01)
    conf.set_override('report_interval', 1)
    return conf


@pytest.fixture
def begin():
    """Function: returns running BackgroundTasks; stopped afterwards."""
    begun = []

    def begin(conf):
        begun.append(background_tasks.BackgroundTasks(conf))
        begun[-1].register()
        begun[-1].start()
        return begun[-1]
    yield begin
    for one in begun:
        one.stop()


@pytest.fixture
def lines(caplog):
    """Function: returns the log lines at INFO or above."""
    caplog.set_level(logging.INFO, 'nova_sched')

    def lines():
        return [(record.levelname, record.getMessage())
                for record in caplog.records
                if record.name == background_tasks.LOG.logger.name]
    return lines


class TestRecord:

    @pytest.mark.parametrize(('interval', 'waits'), [
        (0, []), (-1, []), (10, [5, 10, 10])])
    def test_gets_first_heartbeat_after_5_seconds(self, conf, interval, waits):
        conf.set_override('report_interval', interval)
        assert list(itertools.islice(
            background_tasks.heartbeat_waits(conf), 3)) == waits

    def test_is_created_again_if_deleted(self, quick, cloud, begin, lines):
        begin(quick)
        cloud.execute('UPDATE services SET deleted = id WHERE host = ?', HOST)
        wait_for(lambda: len(cloud.rows(COUNT, HOST)) == 2)
        wait_for(lambda: any('created again' in text for _, text in lines()))

    def test_is_created_once_the_database_is_back(
            self, quick, cloud, begin, lines):
        cloud.execute('ALTER TABLE services RENAME TO away')
        begin(quick)
        assert [level for level, _text in lines()] == ['WARNING']
        cloud.execute('ALTER TABLE away RENAME TO services')
        wait_for(lambda: cloud.rows(COUNT, HOST))
        wait_for(lambda: len(lines()) == 2)

    @pytest.mark.parametrize('is_stopped', [True, False])
    def test_hung_database_delays_neither_start_nor_stop(
            self, conf, monkeypatch, is_stopped):
        began, go_on = threading.Event(), threading.Event()
        monkeypatch.setattr(background_tasks, 'REGISTER_TIMEOUT',
                            30 if is_stopped else 0.05)

        def hang(record):
            began.set()
            go_on.wait(30)
        monkeypatch.setattr(services.ServiceRecord, 'register', hang)
        starting = background_tasks.BackgroundTasks(conf)
        thread = threading.Thread(target=starting.register)
        thread.start()
        assert began.wait(10)
        if is_stopped:
            starting.stop()
        thread.join(10)
        assert not thread.is_alive()
        go_on.set()


class TestDiscovery:
    @pytest.fixture
    def conf(self, conf, cloud):
        """A cloud with one cell; all databases are the same."""
        conf.set_override('connection', cloud.url, 'api_database')
        conf.set_override('discover_hosts_in_cells_interval', 0, 'scheduler')
        cloud.execute('UPDATE compute_nodes SET mapped = 0')
        for table in ('host_mappings', 'cell_mappings'):
            cloud.execute(f'DELETE FROM {table}')
        cloud.execute(
            'INSERT INTO cell_mappings (uuid, name, database_connection) '
            'VALUES (?, ?, ?), (?, ?, ?)',
            cells.CELL0_UUID, 'cell0', 'sqlite://',
            clouds.a_uuid(7), 'one', cloud.url)
        return conf

    @pytest.fixture
    def discoverer(self, conf, cloud):
        record = services.ServiceRecord(cloud._db, HOST)
        record.register()
        return background_tasks.HostDiscovery(
            conf, record, SharedRegion('one process'))

    def mapped(self, cloud):
        return [host for host, in cloud.rows(
            'SELECT host FROM host_mappings ORDER BY host')]

    def test_starts_and_ends_with_the_service(
            self, conf, cloud, begin, lines, monkeypatch):
        closed = []
        monkeypatch.setattr(discovery.Discovery, 'close',
                            lambda search: closed.append(search))
        tasks = begin(conf)
        wait_for(lambda: ('INFO', 'Discovered 2 new hosts: '
                          'one:host1,one:host2') in lines())
        assert self.mapped(cloud) == ['host1', 'host2']
        assert not closed
        tasks.stop()
        assert closed

    @pytest.mark.parametrize(('group', 'option', 'value', 'waits'), [
        ('scheduler', 'discover_hosts_in_cells_interval', -1, []),
        (None, 'periodic_enable', False, []),
        ('api_database', 'connection', None, []),
        ('scheduler', 'discover_hosts_in_cells_interval', 0, [0, 60, 60]),
        ('scheduler', 'discover_hosts_in_cells_interval', 7, [0, 7, 7])])
    def test_runs_at_once_and_periodically_unless_disabled(
            self, conf, group, option, value, waits):
        conf.set_override(option, value, group)
        assert list(itertools.islice(
            background_tasks.discovery_waits(conf), 3)) == waits

    def test_is_left_to_the_leading_scheduler(self, discoverer, cloud, lines):
        cloud.execute(
            'INSERT INTO services (host, "binary", topic, report_count, '
            'deleted, created_at) VALUES (?, ?, ?, 0, 0, '
            'CURRENT_TIMESTAMP)', 'first', 'nova-scheduler', 'scheduler')
        discoverer()
        assert self.mapped(cloud) == []
        assert lines() == []
        cloud.execute('UPDATE services SET forced_down = 1 WHERE host = ?',
                      'first')
        cloud.execute('UPDATE services SET disabled = 1 WHERE host = ?', HOST)
        discoverer()
        assert self.mapped(cloud) == []
        cloud.execute('UPDATE services SET disabled = 0 WHERE host = ?', HOST)
        discoverer()
        assert self.mapped(cloud) == ['host1', 'host2']

    def test_runs_in_one_process_only(self, discoverer, cloud):
        with in_worker(discoverer._elected.locked):
            discoverer()
            assert self.mapped(cloud) == []
        discoverer()
        assert self.mapped(cloud) == ['host1', 'host2']

    def test_other_program_is_warned_of(self, discoverer, lines, monkeypatch):
        monkeypatch.setattr(
            discoverer._discovery, 'run',
            lambda: discovery.Discovered(
                mapped_by_others=['one:host1']))
        discoverer()
        discoverer()
        (level, text), = lines()
        assert level == 'WARNING'
        assert text.startswith(
            'This periodic task should only be enabled if discover hosts is '
            'not run via nova-manage, schedulers: one:host1')


class TestService:
    def test_creates_its_record_before_and_beats_after_it_serves(
            self, quick, cloud, monkeypatch):
        """No heartbeat is sent while it waits for the broker."""
        counts = []
        start_server = service.SchedulerService._start_server

        def wait(self):
            time.sleep(0.1)
            counts.extend(cloud.rows(COUNT, HOST))
            start_server(self)
        monkeypatch.setattr(service.SchedulerService, '_start_server', wait)
        scheduler = service.SchedulerService(quick)
        scheduler.start()
        assert counts == [(0,)]
        wait_for(lambda: cloud.rows(COUNT, HOST)[0][0])
        scheduler.stop()

    def test_sends_no_heartbeats_after_a_failed_start(self, conf, monkeypatch):
        def refuse(*_args):
            raise exception.ConfigurationError('option', 'value', 'hint')
        monkeypatch.setattr(service.rpc, 'get_server', refuse)
        scheduler = service.SchedulerService(conf)
        with pytest.raises(exception.ConfigurationError):
            scheduler.start()
        assert scheduler._background._stopped.is_set()

    def test_answers_while_the_disk_is_full(self, quick, lines):
        """The record in the embedded database is written again later."""
        scheduler = service.SchedulerService(quick)
        scheduler.start()
        with full_disk():
            wait_for(lambda: ('WARNING' in dict(lines())))
            assert select(quick)[0] in ('host1', 'host2')
        wait_for(lambda: lines()[-1][1].endswith('works again'))
        scheduler.stop()


class Failing:
    """Work that raises these errors, one a call, and then works."""

    def __init__(self, *errors):
        self._errors, self.calls = list(errors), 0

    def __call__(self):
        self.calls += 1
        error = self._errors.pop(0) if self._errors else None
        if error is not None:
            raise error


class TestPeriodicTask:
    @pytest.mark.parametrize(('is_stopped', 'calls'), [(False, 3), (True, 0)])
    def test_calls_its_work_until_a_stop(self, is_stopped, calls):
        work, stopped = Failing(), threading.Event()
        if is_stopped:
            stopped.set()
        task = background_tasks.PeriodicTask('It', work, stopped)
        task.run([0, 0, 0])
        assert work.calls == calls
        assert task.tried.is_set()

    @pytest.mark.parametrize(('error', 'text'), [
        (exception.DatabaseUnavailable('Database x: gone'),
         'Database x: gone'), (ValueError('x'), "ValueError('x')")])
    def test_logs_an_outage_once_and_its_end(self, lines, caplog, error, text):
        """With a traceback unless the database is unavailable."""
        background_tasks.PeriodicTask('It', Failing(
            error, error, error, None, None, error, None),
            threading.Event()).run([0] * 7)
        (_, warning), *_, last = lines()
        assert [level for level, _ in lines()] == [
            'WARNING', 'INFO', 'WARNING', 'INFO']
        assert warning.startswith('It fails; retrying without further')
        assert warning.endswith(f': {text}')
        assert last == ('INFO', 'It works again')
        assert bool(caplog.records[0].exc_info) == isinstance(
            error, ValueError)
