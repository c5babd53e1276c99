"""The health of a service: the worst of its workers' reports."""

import threading
import time

import pytest

from nova_sched.health import board as boards
from nova_sched.health import shared
from nova_sched.health.board import Board
from nova_sched.shared_region import SharedRegion


class Workers:
    """Two workers that report to a Board at a time that a test sets."""

    def __init__(self):
        self.now = 0.0
        self.board = Board('sched-1', 2, 300, clock=lambda: self.now)

    def report(self, number, at=None, service_id=None, **statuses):
        self.board.add({
            'worker': number, 'at': self.now, 'service_id': service_id,
            'checks': {name: [status, time.time() if at is None else at, 'x']
                       for name, status in statuses.items()},
            'figures': {}})

    def statuses(self):
        return {name: check.status
                for name, check in self.board.checks().items()}


@pytest.fixture
def workers():
    return Workers()


def test_service_passes_at_its_start(workers):
    document, _ = workers.board.health()
    assert (document['status'], document['checks']) == ('pass', {})


def test_check_is_the_worst_of_the_workers(workers):
    workers.report(0, api_db='pass', message_bus='fail')
    workers.report(1, api_db='warn', message_bus='pass', placement='pass')
    assert workers.board.health()[0]['status'] == 'fail'
    assert workers.board.ranks() == {
        'api_db': 1, 'message_bus': 2, 'placement': 0, 'workers': 0}


def test_latest_report_of_a_worker_counts(workers):
    workers.report(0, api_db='fail')
    workers.report(1)
    workers.report(0, api_db='pass')
    assert workers.statuses() == {'api_db': 'pass', 'workers': 'pass'}


def test_silent_worker_warns_then_fails_until_it_is_replaced(workers):
    workers.report(1, api_db='fail')
    for workers.now in range(30):
        workers.report(0)
        silent = workers.now
        assert workers.statuses()['workers'] == (
            'pass' if silent < boards.SILENT
            else 'warn' if silent < boards.LASTING else 'fail')
    # Its last report does not count any more.
    assert 'api_db' not in workers.statuses()
    workers.report(1)
    assert workers.statuses() == {'workers': 'pass'}


@pytest.mark.parametrize('seconds, status', [
    (boards.START - 1, 'pass'), (boards.START, 'warn'),
    (boards.START + boards.LASTING, 'fail')])
def test_worker_without_report_warns_after_a_minute(workers, seconds, status):
    workers.now = seconds
    workers.report(0)
    assert workers.statuses() == {'workers': status}


def test_service_without_any_worker_fails(workers):
    workers.now = 2 * boards.START
    assert workers.statuses() == {'workers': 'fail'}


def test_outdated_check_warns(workers):
    workers.report(0, at=time.time() - 301, api_db='pass')
    workers.report(1, service_id='some-uuid')
    document, header = workers.board.health()
    assert (document['status'], header) == ('warn', 'max-age=300')
    assert document['serviceId'] == 'some-uuid'
    assert workers.board.ranks()['api_db'] == 1


class TestChannel:
    def test_returns_reports_in_order(self):
        channel = shared.Channel()
        channel.send({'worker': 1})
        channel.send({'worker': 2})
        assert [channel.receive(1), channel.receive(1)] == [
            {'worker': 1}, {'worker': 2}]
        assert channel.receive(0.01) is None

    @pytest.mark.parametrize('worker, count, received', [
        (0, 10_000, {'worker': 0}), ('x' * (1 << 22), 1, None)])
    def test_drops_reports_beyond_its_room(self, worker, count, received):
        channel = shared.Channel()
        for _ in range(count):
            channel.send({'worker': worker})
        assert channel.receive(0.01) == received


def test_unreadable_report_is_logged_and_the_next_one_read(workers, caplog):
    reports, stopped = [{}, {'worker': 1, 'at': 0.0}], threading.Event()

    class Channel:
        def receive(self, seconds):
            return reports.pop(0) if reports else stopped.set()
    stopped.wait = lambda seconds: None
    workers.board.receive(Channel(), stopped)

    assert caplog.messages == ['Cannot read the health report of a worker']
    assert workers.board.reports() == [{'worker': 1, 'at': 0.0}]


def test_process_keeps_its_number():
    numbers = SharedRegion('numbers')
    assert [numbers.own(), numbers.own()] == [0, 0]
