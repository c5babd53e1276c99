"""What a service does in the background: its record, and new hosts."""

import itertools
import logging
import threading
import time

import pytest

from nova_sched import exception
from nova_sched import service
from nova_sched.daemon import background_tasks
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
    """That configuration, with heartbeats that come at once."""
    monkeypatch.setattr(background_tasks, 'FIRST_BEAT', 0.01)
    conf.set_override('report_interval', 1)
    return conf


@pytest.fixture
def begin():
    """Function: BackgroundTasks that have begun; stopped afterwards."""
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
    """Function: the lines of the log so far at INFO or above."""
    caplog.set_level(logging.INFO, 'nova_sched')

    def lines():
        return [(record.levelname, record.getMessage())
                for record in caplog.records
                if record.name == background_tasks.LOG.logger.name]
    return lines


class TestRecord:
    def test_is_there_when_the_start_has_returned(self, conf, cloud, begin):
        begin(conf)
        assert cloud.rows(COUNT, HOST) == [(0,)]

    def test_is_made_at_once(self, conf, cloud):
        """Before the seconds to the first heartbeat, which Nova has, too."""
        waits = []

        class Stopped(threading.Event):
            def wait(self, timeout=None):
                waits.append(timeout)
                return super().wait(timeout)
        starting = background_tasks.BackgroundTasks(conf)
        starting._stopped = Stopped()

        starting.register()

        assert waits == [0]

    def test_gets_heartbeats(self, quick, cloud, begin):
        begin(quick)
        wait_for(lambda: cloud.rows(COUNT, HOST)[0][0] >= 2)

    @pytest.mark.parametrize('interval', [0, -1])
    def test_gets_no_heartbeats_without_an_interval(
            self, quick, cloud, begin, interval):
        quick.set_override('report_interval', interval)
        begin(quick)
        assert list(background_tasks.heartbeat_waits(quick)) == []
        assert cloud.rows(COUNT, HOST) == [(0,)]

    def test_gets_the_first_heartbeat_after_5_seconds_as_in_nova(self, conf):
        waits = background_tasks.heartbeat_waits(conf)
        assert list(itertools.islice(waits, 3)) == [5, 10, 10]

    def test_gets_heartbeats_without_periodic_work(
            self, quick, cloud, begin):
        quick.set_override('periodic_enable', False)
        begin(quick)
        wait_for(lambda: cloud.rows(COUNT, HOST)[0][0] >= 1)

    def test_that_is_deleted_is_made_anew_and_that_is_told(
            self, quick, cloud, begin, lines):
        begin(quick)
        cloud.execute('UPDATE services SET deleted = id WHERE host = ?', HOST)
        wait_for(lambda: len(cloud.rows(COUNT, HOST)) == 2)
        wait_for(lambda: any('made anew' in text for _, text in lines()))

    def test_that_cannot_be_made_yet_is_made_when_the_database_is_back(
            self, quick, cloud, begin, lines):
        cloud.execute('ALTER TABLE services RENAME TO away')
        begin(quick)
        assert [level for level, _text in lines()] == ['WARNING']
        cloud.execute('ALTER TABLE away RENAME TO services')
        wait_for(lambda: cloud.rows(COUNT, HOST))
        wait_for(lambda: len(lines()) == 2)

    def test_of_a_database_that_hangs_is_not_waited_for_for_long(
            self, conf, begin, monkeypatch):
        go_on = threading.Event()
        monkeypatch.setattr(background_tasks, 'REGISTER_TIMEOUT', 0.05)
        monkeypatch.setattr(services.ServiceRecord, 'register',
                            lambda record: go_on.wait(30))
        begin(conf)
        go_on.set()

    def test_of_a_database_that_hangs_does_not_hold_up_a_stop(
            self, conf, monkeypatch):
        began, go_on = threading.Event(), threading.Event()
        monkeypatch.setattr(background_tasks, 'REGISTER_TIMEOUT', 30)

        def hang(record):
            began.set()
            go_on.wait(30)
        monkeypatch.setattr(services.ServiceRecord, 'register', hang)
        starting = background_tasks.BackgroundTasks(conf)
        thread = threading.Thread(target=starting.register)
        thread.start()
        assert began.wait(10)
        starting.stop()
        thread.join(10)
        assert not thread.is_alive()
        go_on.set()


class TestDiscovery:
    @pytest.fixture
    def conf(self, conf, cloud):
        """A cloud with a cell, whose databases are all one."""
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

    def test_begins_with_the_service(self, conf, cloud, begin, lines):
        begin(conf)
        wait_for(lambda: ('INFO', 'Discovered 2 new hosts: '
                          'one:host1,one:host2') in lines())
        assert self.mapped(cloud) == ['host1', 'host2']

    def test_ends_with_the_service(self, conf, begin, monkeypatch):
        closed = []
        monkeypatch.setattr(discovery.Discovery, 'close',
                            lambda search: closed.append(search))
        tasks = begin(conf)
        assert not closed
        tasks.stop()
        assert closed

    @pytest.mark.parametrize(('group', 'option', 'value'), [
        ('scheduler', 'discover_hosts_in_cells_interval', -1),
        (None, 'periodic_enable', False),
        ('api_database', 'connection', None)])
    def test_is_not_done_where_it_is_turned_off_or_there_are_no_cells(
            self, conf, group, option, value):
        conf.set_override(option, value, group)
        assert not background_tasks.discovery_waits(conf)

    @pytest.mark.parametrize(('option', 'seconds'), [(0, 60), (7, 7)])
    def test_is_done_at_once_and_every_so_many_seconds(
            self, conf, option, seconds):
        conf.set_override('discover_hosts_in_cells_interval', option,
                          'scheduler')
        waits = background_tasks.discovery_waits(conf)
        assert list(itertools.islice(waits, 3)) == [0, seconds, seconds]

    def test_that_finds_nothing_says_nothing(self, discoverer, lines):
        discoverer()
        before = lines()
        discoverer()
        assert lines() == before

    def test_is_left_to_the_leading_scheduler(
            self, discoverer, cloud, lines):
        cloud.execute(
            'INSERT INTO services (host, "binary", topic, report_count, '
            'deleted, created_at) VALUES (?, ?, ?, 0, 0, '
            'CURRENT_TIMESTAMP)', 'first', 'nova-scheduler', 'scheduler')
        discoverer()
        assert self.mapped(cloud) == []
        assert lines() == []
        cloud.execute('UPDATE services SET forced_down = 1 WHERE host = ?',
                      'first')
        discoverer()
        assert self.mapped(cloud) == ['host1', 'host2']

    def test_is_not_done_by_a_disabled_scheduler(self, discoverer, cloud):
        cloud.execute('UPDATE services SET disabled = 1 WHERE host = ?',
                      HOST)
        discoverer()
        assert self.mapped(cloud) == []

    def test_is_done_by_one_process_only(self, discoverer, cloud):
        """Another one that came first is left alone."""
        with in_worker(discoverer._alone.locked):
            discoverer()
            assert self.mapped(cloud) == []
        discoverer()
        assert self.mapped(cloud) == ['host1', 'host2']

    def test_beside_somebody_elses_is_warned_of_once(
            self, discoverer, lines, monkeypatch):
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
    def test_has_its_record_before_it_takes_requests(
            self, conf, cloud, monkeypatch):
        seen = []
        get_server = service.rpc.get_server

        def look(*args):
            seen.extend(cloud.rows(COUNT, HOST))
            return get_server(*args)
        monkeypatch.setattr(service.rpc, 'get_server', look)
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        scheduler.stop()
        assert seen == [(0,)]

    def test_reports_only_when_it_takes_requests(
            self, quick, cloud, monkeypatch):
        """Not while it still waits for the broker."""
        seen = []
        start_server = service.SchedulerService._start_server

        def wait(self):
            time.sleep(0.1)
            seen.extend(cloud.rows(COUNT, HOST))
            start_server(self)
        monkeypatch.setattr(service.SchedulerService, '_start_server', wait)
        scheduler = service.SchedulerService(quick)
        scheduler.start()
        assert seen == [(0,)]
        wait_for(lambda: cloud.rows(COUNT, HOST)[0][0])
        scheduler.stop()

    def test_leaves_its_record_as_it_is_when_it_stops(self, conf, cloud):
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        before = cloud.rows('SELECT * FROM services')
        scheduler.stop()
        assert scheduler._background._stopped.is_set()
        assert cloud.rows('SELECT * FROM services') == before

    def test_that_cannot_start_reports_no_more(self, conf, monkeypatch):
        def refuse(*_args):
            raise exception.ConfigurationError('option', 'value', 'hint')
        monkeypatch.setattr(service.rpc, 'get_server', refuse)
        scheduler = service.SchedulerService(conf)
        with pytest.raises(exception.ConfigurationError):
            scheduler.start()
        assert scheduler._background._stopped.is_set()

    def test_answers_while_the_disk_is_full(self, quick, lines):
        """Of the embedded database; its record is written again later."""
        scheduler = service.SchedulerService(quick)
        scheduler.start()
        with full_disk():
            wait_for(lambda: ('WARNING' in dict(lines())))
            assert select(quick)[0] in ('host1', 'host2')
        wait_for(lambda: lines()[-1][1].endswith('works again'))
        scheduler.stop()

    def test_serves_where_it_cannot_write(self, conf, cloud, lines):
        """As with a user of the database that may only read."""
        cloud.execute('CREATE TRIGGER no BEFORE INSERT ON services '
                      "BEGIN SELECT RAISE(ABORT, 'read only'); END")
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        assert scheduler.serving
        scheduler.stop()
        (level, text), = lines()
        assert level == 'WARNING'
        assert 'services table' in text
        assert 'read only' in text
