"""Replies whose queue is missing: retries, limits, and undone calls."""

import contextlib
import functools
import threading
import types

import oslo_messaging as messaging
import pytest

from nova_sched.rpc import call_scope
from nova_sched.rpc import replies
from tests.builders.services import no_thread
from tests.builders.services import wait_for


class Driver:
    """A driver of oslo.messaging on a bus without some of its queues.

    gone: names of queues.  sent: (queue, body) of delivered replies.
    trying, may_end: Events: an attempt has begun; it may end.
    error: of each attempt, or None.
    """

    missing_destination_retry_timeout = 60

    def __init__(self):
        self.gone, self.sent, self.tries = set(), [], 0
        self.trying, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.error = None

    @contextlib.contextmanager
    def _get_connection(self, purpose):
        yield self

    def direct_send(self, queue, body):
        self.tries += 1
        self.trying.set()
        assert self.may_end.wait(20)
        if self.error:
            raise self.error
        if queue in self.gone:
            raise messaging.MessageUndeliverable(None, '', queue, None)
        self.sent.append((queue, body))

    @property
    def numbers(self):
        return [body['number'] for _, body in self.sent]


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def retrier(driver, monkeypatch):
    """A ReplyRetrier; its ``abandoned`` has the abandoned queues."""
    monkeypatch.setattr(replies, 'PAUSE', 0.01)
    abandoned = []
    retrier = replies.ReplyRetrier(
        driver, lambda queue, calls: abandoned.append(queue))
    retrier.abandoned = abandoned
    yield retrier
    driver.gone.clear()
    driver.may_end.set()
    retrier.close(20)


@pytest.fixture
def undone():
    with call_scope.entered():
        yield []


def a_reply(queue, number=0, size=10):
    reply = replies.PendingReply()
    reply.direct_send(queue, {'number': number, 'oslo.message': ' ' * size})
    return reply


def send(retrier, reply, undone):
    """Send the reply of a call that can be undone."""
    call_scope.take_undo()
    call_scope.if_reply_is_lost(lambda: undone.append(reply.body['number']))
    retrier.send(reply)


def test_delivered_reply_is_not_kept(retrier, driver, undone):
    send(retrier, a_reply('here'), undone)

    assert len(driver.sent) == 1
    assert retrier._thread is None
    assert len(call_scope.take_undo()) == 1


def test_replies_are_delivered_in_order_once_the_queue_exists(
        retrier, driver, undone):
    driver.gone.add('late')
    for number in range(5):
        send(retrier, a_reply('late', number), undone)
    assert call_scope.take_undo() == []
    send(retrier, a_reply('here', 5), undone)
    assert driver.numbers == [5]

    driver.gone.clear()
    wait_for(lambda: len(driver.sent) == 6)

    assert driver.numbers == [5, *range(5)]
    assert undone == retrier.abandoned == []


def test_one_thread_retries_one_reply_of_each_queue(retrier, driver, undone):
    before = threading.active_count()
    for number in range(20):
        driver.gone.add(f'gone {number}')
        send(retrier, a_reply(f'gone {number}'), undone)
    assert threading.active_count() <= before + 1
    driver.may_end.clear()
    tries = driver.tries
    for number in range(100):
        send(retrier, a_reply('gone 0', number), undone)
    assert driver.tries <= tries + 1


def test_calls_are_undone_after_the_timeout(retrier, driver, undone, caplog):
    driver.missing_destination_retry_timeout = 1
    driver.gone.add('gone')
    for number in range(3):
        send(retrier, a_reply('gone', number), undone)

    wait_for(lambda: undone == [0, 1, 2])
    assert retrier.abandoned == ['gone']
    assert caplog.text.count('Abandoning 3 replies to gone') == 1


@pytest.mark.parametrize(('limit', 'value'), [
    ('MAX_REPLIES', 4), ('MAX_BYTES', 45)])
def test_queue_missing_for_longest_is_abandoned_beyond_limits(
        retrier, driver, undone, monkeypatch, limit, value):
    monkeypatch.setattr(replies, limit, value)
    driver.gone |= {'first', 'second'}
    for number in range(6):
        send(retrier, a_reply('first' if number < 3 else 'second', number),
             undone)

    wait_for(lambda: undone == [0, 1, 2])
    assert retrier.abandoned == ['first']


class TestReplyBeingSent:
    """Its queue is abandoned, or the service stops, during an attempt."""

    @pytest.fixture(autouse=True)
    def attempt(self, retrier, driver, undone):
        driver.gone.add('late')
        send(retrier, a_reply('late'), undone)
        driver.may_end.clear()
        driver.trying.clear()
        assert driver.trying.wait(20)

    @pytest.mark.parametrize('is_delivered', [True, False])
    def test_is_undone_unless_it_is_delivered(
            self, retrier, driver, undone, is_delivered):
        retrier._abandon('late', 'a test')
        if is_delivered:
            driver.gone.clear()
        driver.may_end.set()
        wait_for(lambda: retrier._thread is None)
        retrier.close(1)
        assert driver.numbers == [0] * is_delivered
        assert undone == [0] * (not is_delivered)

    def test_is_undone_after_stop(self, retrier, driver, undone, monkeypatch):
        monkeypatch.setattr(replies, 'LAST_TRY', 0.01)
        retrier.close(0.01)
        assert undone == []
        driver.may_end.set()
        wait_for(lambda: undone == [0])
        assert driver.sent == []

    def test_stop_waits_for_the_attempt(self, retrier, driver, undone, caplog):
        threading.Timer(0.1, driver.may_end.set).start()
        retrier.close(0.01)
        assert undone == [0]
        assert caplog.text.count('the service stops') == 1

    @pytest.mark.parametrize('error', [None, OSError('no broker')])
    def test_keeps_its_place_if_the_attempt_fails(
            self, retrier, driver, undone, error):
        send(retrier, a_reply('late', 1), undone)
        driver.error = error
        driver.may_end.set()
        wait_for(lambda: driver.tries > 3)
        driver.gone.clear()
        driver.error = None
        wait_for(lambda: len(driver.sent) == 2)
        assert driver.numbers == [0, 1]
        assert undone == []


def test_timeout_of_a_queue_counts_only_while_the_broker_answers(
        retrier, driver, undone, monkeypatch):
    """Callers may reconnect later than the service does."""
    clock, wait = [0], replies.time.sleep
    monkeypatch.setattr(replies, 'time', types.SimpleNamespace(
        monotonic=lambda: clock[0], sleep=wait))
    driver.gone.add('late')
    send(retrier, a_reply('late'), undone)
    find = driver.direct_send
    tries = []

    def hang(queue, body):
        tries.append(queue)
        if len(tries) == 1:
            clock[0] += 600
            raise OSError('no broker')
        find(queue, body)
    driver.direct_send = hang
    wait_for(lambda: len(tries) > 3)
    driver.gone.clear()
    wait_for(lambda: driver.sent)
    assert undone == []


def test_reply_is_lost_if_no_thread_can_retry_it(retrier, driver, undone):
    driver.gone.add('away')
    with no_thread(), pytest.raises(RuntimeError, match='new thread'):
        send(retrier, a_reply('away', 1), undone)
    call_scope.reply_is_lost()
    assert undone == [1]

    send(retrier, a_reply('away', 2), undone)
    driver.gone.clear()
    wait_for(lambda: driver.sent)

    assert driver.numbers == [2]
    assert undone == [1]


def test_call_is_undone_once_with_and_without_thread(retrier, driver, undone):
    driver.missing_destination_retry_timeout = 0
    driver.gone.add('away')
    send(retrier, a_reply('there'), [])
    for number in (1, 2):
        retrier._keep(reply := a_reply('away', number))
        reply.undo = [functools.partial(undone.append, number)]
        if number == 1:
            with no_thread():
                retrier._abandon('away', 'a test')
                assert undone == [1]
        retrier._abandon('away', 'a test')
    wait_for(lambda: len(undone) > 1)
    retrier.close(20)

    assert undone == [1, 2]
