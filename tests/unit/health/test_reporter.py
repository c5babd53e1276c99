"""Health reports of a worker, from the state that its parts recorded."""

import time
import types

import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched.db.cells import SINGLE_CELL_UUID
from nova_sched.db.cells import Cell
from nova_sched.health import reporter
from nova_sched.scheduler import host_manager
from tests.builders.services import no_thread
from tests.builders.waiting import until


def a_contact(error=None):
    made = remote.Contact()
    made.answered()
    if error:
        made.failed(error)
    return made


class Hosts(host_manager.HostManager):
    """A host manager of two hosts; reads: number of refreshes.

    cells: list of (Cell, Contact).  age: of the host table.
    lost: cell -> reason for which its hosts are left out.
    """

    def __init__(self, *cells, age=1.0):
        self.lost = {}
        self.cells, self.age, self.reads = list(cells), age, 0

    def contacts(self):
        return self.cells

    def overview(self):
        ages = {cell.uuid: self.age for cell, contact in self.cells
                if cell and not contact.failures}
        return host_manager.Overview(2, 0, ages, self.lost, [], 0.0)

    def refresh(self):
        self.reads += 1
        raise exception.DatabaseUnavailable('as ever')


class Scheduler:
    """The attributes of a SchedulerService that a Reporter reads."""

    service_id, waits_for, serving = 'some-uuid', None, True

    def __init__(self, hosts=None, placement=None):
        self.connection = types.SimpleNamespace(
            contact=a_contact(), gone_count=0, gone_at=None, is_gone=False)
        self.server = types.SimpleNamespace(
            connection=self.connection, polled_at=time.monotonic(), busy_for=0)
        self.driver = types.SimpleNamespace(host_manager=hosts, PERIODIC=False)
        self.candidate_source = types.SimpleNamespace(
            mirror_age=4.0, placement_client=placement
            and types.SimpleNamespace(contact=placement))


def a_reporter(scheduler, ttl=300, **kwargs):
    return reporter.Reporter(scheduler, ttl, lambda: 3, None, **kwargs)


def statuses(scheduler):
    return {name: status for name, (status, _, _) in a_reporter(
        scheduler).report()['checks'].items()}


CELL = Cell('uuid-a', 'a', 'mysql://')


def test_report_has_each_known_check_and_figure():
    scheduler = Scheduler(Hosts((None, a_contact()), (CELL, a_contact())),
                          a_contact())
    report = a_reporter(scheduler).report()

    assert {name: status for name, (status, *_) in report['checks'].items()
            } == dict.fromkeys(['message_bus', 'consuming', 'api_db',
                                'cell:a', 'state_age', 'clock', 'hosts',
                                'placement'], 'pass')
    assert (report['worker'], report['service_id']) == (3, 'some-uuid')
    assert report['figures'] == {'state_age': {'cell:a': 1.0}, 'up': 2,
                                 'down': 0, 'unmapped': None,
                                 'mirror_age': 4.0}


@pytest.mark.parametrize('cells, names', [
    ([Cell(SINGLE_CELL_UUID, None, '')], {'database'}),
    ([Cell('u', None, '')], {'cell:u'}),
    ([Cell('u', 'same', ''), Cell('v', 'same', ''), Cell('w', 'x', '')],
     {'cell:u', 'cell:v', 'cell:x'})])
def test_cells_of_one_name_are_called_by_uuid(cells, names):
    reported = statuses(Scheduler(Hosts(*(
        (cell, a_contact()) for cell in cells))))
    assert {name for name in reported if name.startswith(('cell', 'data'))
            } == names


def test_unreadable_cell_is_reported():
    hosts = Hosts((CELL, a_contact()))
    hosts.lost[str(CELL)] = 'no such column'
    made = a_reporter(Scheduler(hosts))
    [status, _, output] = made.report()['checks']['cell:a']
    assert (status, output) == (
        'warn', 'its hosts are left out for 0 seconds: no such column')


def test_lost_bus_is_reported_and_a_bus_within_the_process_is_not():
    scheduler = Scheduler()
    for _ in range(2):
        scheduler.connection.contact.failed('Connection refused')
    assert statuses(scheduler) == {'message_bus': 'fail', 'consuming': 'warn'}
    scheduler.server.connection = scheduler.server.polled_at = None
    assert statuses(scheduler) == {'consuming': 'pass'}


def test_deleted_queues_are_counted_once():
    scheduler, counted = Scheduler(), []
    made = a_reporter(scheduler, on_gone=counted.append)
    for scheduler.connection.gone_count in (0, 2, 2, 3):
        made.report()
    assert counted == [2, 1]


def test_waiting_start_is_reported_with_its_dependency():
    scheduler = Scheduler()
    scheduler.serving = False
    scheduler.driver = scheduler.candidate_source = None
    scheduler.waits_for = 'the database', time.monotonic() - 61
    [(status, _, output)] = a_reporter(scheduler).report()['checks'].values()
    assert status == 'fail'
    assert 'a worker waits for the database for 61 seconds' in output


def test_stopping_worker_reports_no_trouble():
    scheduler = Scheduler()
    scheduler.serving = False
    assert statuses(scheduler) == {}


def test_third_party_driver_is_reported_without_hosts():
    assert statuses(Scheduler(hosts=object())) == {
        'message_bus': 'pass', 'consuming': 'pass'}


class TestIdleWorker:
    @pytest.fixture
    def clock(self, monkeypatch):
        now = [time.monotonic()]
        monkeypatch.setattr(time, 'monotonic', lambda: now[0])
        return now

    @pytest.mark.parametrize('age, error, ttl, wait, reads', [
        (29, None, 300, 100, 0), (30, None, 300, 30, 1),
        (30, None, 300, 29, 0), (100, None, 0, 30, 1),
        (4, None, 12, 4, 1), (3, None, 12, 4, 0),
        (1, 'gone', 300, 4, 0), (1, 'gone', 300, 5, 1),
        (1, 'gone', 6, 2, 1)])
    def test_reads_the_hosts_and_more_often_in_trouble(
            self, clock, age, error, ttl, wait, reads):
        hosts = Hosts((CELL, a_contact()), (Cell('b', 'b', ''),
                                            a_contact(error)), age=age)
        made = a_reporter(Scheduler(hosts), ttl)
        clock[0] += wait
        made._read_if_idle()
        if reads:
            until(lambda: hosts.reads == reads, 'it reads')
        assert hosts.reads == reads

    def test_retries_the_read_if_there_is_no_thread(self, clock):
        hosts = Hosts((CELL, a_contact()), age=100)
        made = a_reporter(Scheduler(hosts))
        clock[0] += 100
        with no_thread(), pytest.raises(RuntimeError, match='new thread'):
            made._read_if_idle()
        clock[0] += 100
        made._read_if_idle()
        until(lambda: hosts.reads, 'it reads')

    def test_logs_a_fault_of_the_read(self, clock, monkeypatch, caplog):
        hosts = Hosts((CELL, a_contact()), age=100)
        monkeypatch.setattr(hosts, 'refresh', lambda: 1 / 0)
        made = a_reporter(Scheduler(hosts))
        clock[0] += 100
        made._read_if_idle()
        until(lambda: caplog.messages == [
            'Reading the hosts for the health report failed'], 'a line')

    def test_leaves_the_read_to_a_periodic_driver(self, clock):
        hosts = Hosts((CELL, a_contact()), age=100)
        scheduler = Scheduler(hosts)
        scheduler.driver.PERIODIC = True
        made = a_reporter(scheduler)
        clock[0] += 100
        made._read_if_idle()
        assert hosts.reads == 0


def test_failing_report_is_logged_once(monkeypatch, caplog):
    """A third party's host manager may lack an attribute."""
    class Broken(Hosts):
        calls = 0

        def contacts(self):
            self.calls += 1
            raise AttributeError('_reader')

    monkeypatch.setattr(reporter, 'INTERVAL', 0.001)
    hosts = Broken()
    made = a_reporter(Scheduler(hosts))
    made.start()
    until(lambda: hosts.calls > 3, 'it goes on')
    made.stop()
    assert caplog.messages == ['Cannot report the health of this worker']
