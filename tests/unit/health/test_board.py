"""What is told of a service: the worst of what its workers say."""

import time

import pytest

from nova_sched.health import board as boards
from nova_sched.health import shared
from nova_sched.health.board import Board
from nova_sched.health.board import Settings
from nova_sched.shared_region import SharedRegion


class Workers:
    """Workers that report to a Board at a time that a test sets."""

    def __init__(self, count=2, ttl=300):
        self.now = 0.0
        self.board = Board(Settings('sched-1', count, ttl, None),
                           lambda: self.now)

    def say(self, number, at=None, service_id=None, **statuses):
        self.board.note({
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


def test_a_service_that_has_just_started_passes(workers):
    told, _ = workers.board.health()
    assert (told['status'], told['checks']) == ('pass', {})


def test_each_check_is_the_worst_of_the_workers(workers):
    workers.say(0, api_db='pass', message_bus='fail')
    workers.say(1, api_db='warn', message_bus='pass', placement='pass')
    assert workers.statuses() == {
        'api_db': 'warn', 'message_bus': 'fail', 'placement': 'pass',
        'workers': 'pass'}
    assert workers.board.health()[0]['status'] == 'fail'
    assert workers.board.ranks() == {
        'api_db': 1, 'message_bus': 2, 'placement': 0, 'workers': 0}


def test_the_newest_report_of_a_worker_counts(workers):
    workers.say(0, api_db='fail')
    workers.say(1)
    workers.say(0, api_db='pass')
    assert workers.statuses() == {'api_db': 'pass', 'workers': 'pass'}


def test_a_worker_that_is_silent_is_a_warning_and_then_a_failure(workers):
    for workers.now in range(30):
        workers.say(0)
        if workers.now == 0:
            workers.say(1, api_db='fail')
        silent = workers.now
        assert workers.statuses()['workers'] == (
            'pass' if silent < boards.SILENT
            else 'warn' if silent < boards.LASTING else 'fail')
    # What it said last is nothing that is known now.
    assert 'api_db' not in workers.statuses()


def test_whoever_takes_its_place_has_its_number(workers):
    workers.say(0)
    workers.say(1)
    workers.now = boards.LASTING
    workers.say(0)
    workers.say(1)
    assert workers.statuses() == {'workers': 'pass'}


def test_a_worker_that_never_comes_is_noticed_a_minute_after_the_start(
        workers):
    workers.now = boards.START - 1
    workers.say(0)
    assert workers.statuses()['workers'] == 'pass'
    workers.now = boards.START
    workers.say(0)
    assert workers.statuses()['workers'] == 'warn'
    workers.now = boards.START + boards.LASTING
    workers.say(0)
    assert workers.statuses()['workers'] == 'fail'


def test_nobody_who_ever_comes_is_a_failure(workers):
    workers.now = 2 * boards.START
    assert workers.statuses() == {'workers': 'fail'}


def test_what_is_out_of_date_is_a_warning(workers):
    workers.say(0, at=time.time() - 301, api_db='pass')
    workers.say(1)
    told, header = workers.board.health()
    assert (told['status'], header) == ('warn', 'max-age=300')
    assert workers.board.ranks()['api_db'] == 1


def test_the_service_record_is_named_once_a_worker_knows_it(workers):
    workers.say(0)
    workers.say(1, service_id='some-uuid')
    assert workers.board.health()[0]['serviceId'] == 'some-uuid'


class TestAChannel:
    def test_has_what_is_said(self):
        channel = shared.Channel()
        channel.say({'worker': 1})
        channel.say({'worker': 2})
        assert [channel.hear(1), channel.hear(1)] == [
            {'worker': 1}, {'worker': 2}]
        assert channel.hear(0.01) is None

    def test_has_nobody_wait_who_speaks_while_nobody_hears(self):
        channel = shared.Channel()
        for number in range(10_000):
            channel.say({'worker': number})
        assert channel.hear(1) == {'worker': 0}

    def test_drops_what_is_too_long(self):
        channel = shared.Channel()
        channel.say({'worker': 'x' * (1 << 22)})
        assert channel.hear(0.01) is None


def test_a_process_keeps_its_number():
    numbers = SharedRegion('numbers')
    assert [numbers.own(), numbers.own()] == [0, 0]
