"""Replies that find no queue: who keeps them, and how many, and how long."""

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

    gone: names of queues.  sent: (queue, body) of what arrived.
    trying, go_on: Events: a try has begun; it may end.
    """

    missing_destination_retry_timeout = 60

    def __init__(self):
        self.gone, self.sent, self.tries = set(), [], 0
        self.trying, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    @contextlib.contextmanager
    def _get_connection(self, purpose):
        yield self

    def direct_send(self, queue, body):
        self.tries += 1
        self.trying.set()
        assert self.go_on.wait(20)
        if queue in self.gone:
            raise messaging.MessageUndeliverable(None, '', queue, None)
        self.sent.append((queue, body))


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def retrier(driver, monkeypatch):
    """A ReplyRetrier, with queues that it gave up in ``given_up``."""
    monkeypatch.setattr(replies, 'PAUSE', 0.01)
    given_up = []
    retrier = replies.ReplyRetrier(
        driver, lambda queue, calls: given_up.append(queue))
    retrier.given_up = given_up
    yield retrier
    driver.gone.clear()
    driver.go_on.set()
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
    """Send it for a call that has done something."""
    call_scope.take_undo()
    call_scope.if_reply_is_lost(lambda: undone.append(reply.body['number']))
    retrier.send(reply)


def test_one_that_arrives_is_kept_by_nobody(retrier, driver, undone):
    send(retrier, a_reply('here'), undone)

    assert len(driver.sent) == 1
    assert retrier._thread is None
    assert len(call_scope.take_undo()) == 1


def test_they_arrive_in_their_order_when_the_queue_is_there(
        retrier, driver, undone):
    driver.gone.add('late')
    for number in range(5):
        send(retrier, a_reply('late', number), undone)
    assert call_scope.take_undo() == []

    driver.gone.clear()
    wait_for(lambda: len(driver.sent) == 5)

    assert [body['number'] for _, body in driver.sent] == [*range(5)]
    wait_for(lambda: retrier._thread is None)
    assert undone == []
    assert retrier.given_up == []


def test_those_to_one_caller_are_one_try_at_a_time(retrier, driver, undone):
    """However many there are; none of them is tried by who works."""
    driver.gone.add('late')
    send(retrier, a_reply('late'), undone)
    retrier._send_all = lambda queue, missing: None
    tries = driver.tries
    for number in range(100):
        send(retrier, a_reply('late', number), undone)
    assert driver.tries <= tries + 1
    del retrier._send_all


def test_those_to_others_do_not_wait(retrier, driver, undone):
    driver.gone.add('late')
    send(retrier, a_reply('late'), undone)
    send(retrier, a_reply('here'), undone)
    assert [queue for queue, _ in driver.sent] == ['here']


def test_what_their_calls_did_is_undone_when_their_time_is_over(
        retrier, driver, undone, caplog):
    driver.missing_destination_retry_timeout = 1
    driver.gone.add('gone')
    for number in range(3):
        send(retrier, a_reply('gone', number), undone)

    wait_for(lambda: undone == [0, 1, 2])
    assert retrier.given_up == ['gone']
    assert caplog.text.count('Abandoning 3 replies to gone') == 1


@pytest.mark.parametrize(('limit', 'value'), [
    ('MAX_REPLIES', 4), ('MAX_BYTES', 45)])
def test_the_caller_that_has_waited_longest_makes_room(
        retrier, driver, undone, monkeypatch, limit, value):
    monkeypatch.setattr(replies, limit, value)
    driver.gone |= {'first', 'second'}
    for number in range(3):
        send(retrier, a_reply('first', number), undone)
    for number in range(3, 6):
        send(retrier, a_reply('second', number), undone)

    wait_for(lambda: undone == [0, 1, 2])
    assert retrier.given_up == ['first']


def test_a_stop_gives_up_what_finds_no_queue(retrier, driver, undone):
    driver.gone.add('gone')
    send(retrier, a_reply('gone'), undone)

    retrier.close(0.1)

    assert undone == [0]


def test_the_time_that_a_try_waits_for_the_broker_does_not_count(retrier):
    retrier._missing['late'] = missing = replies._MissingQueue(60)
    before = missing.deadline
    retrier._prolong(0.5)
    assert missing.deadline == before
    retrier._prolong(600)
    assert missing.deadline == before + 600
    del retrier._missing['late']


def test_one_thread_tries_them_all(retrier, driver, undone):
    before = threading.active_count()
    for number in range(20):
        driver.gone.add(f'gone {number}')
        send(retrier, a_reply(f'gone {number}'), undone)
    assert threading.active_count() <= before + 1


class TestOneThatIsBeingSent:
    """While others give up what waits for the same queue."""

    @pytest.fixture
    def on_its_way(self, retrier, driver, undone):
        """A reply that the thread is about to send."""
        driver.gone.add('late')
        send(retrier, a_reply('late'), undone)
        driver.go_on.clear()
        driver.trying.clear()
        assert driver.trying.wait(20)

    def test_is_not_undone_if_it_arrives(
            self, retrier, driver, undone, on_its_way):
        retrier._abandon('late', 'a test')
        driver.gone.clear()
        driver.go_on.set()
        wait_for(lambda: retrier._thread is None)
        retrier.close(1)
        assert len(driver.sent) == 1
        assert undone == []

    def test_is_undone_if_it_does_not(
            self, retrier, driver, undone, on_its_way):
        retrier._abandon('late', 'a test')
        driver.go_on.set()
        wait_for(lambda: undone == [0])
        assert driver.sent == []
        assert retrier.given_up == ['late']

    def test_is_undone_after_the_stop_too(
            self, retrier, driver, undone, on_its_way, monkeypatch):
        monkeypatch.setattr(replies, 'LAST_TRY', 0.01)
        retrier.close(0.01)
        assert undone == []
        driver.go_on.set()
        wait_for(lambda: undone == [0])
        assert driver.sent == []

    def test_is_waited_for_by_a_stop(
            self, retrier, driver, undone, on_its_way, caplog):
        threading.Timer(0.1, driver.go_on.set).start()
        retrier.close(0.01)
        assert undone == [0]
        assert caplog.text.count('the service stops') == 1

    def test_keeps_its_place_if_it_does_not_arrive_yet(
            self, retrier, driver, undone, on_its_way):
        send(retrier, a_reply('late', 1), undone)
        driver.go_on.set()
        wait_for(lambda: driver.tries > 3)
        driver.gone.clear()
        wait_for(lambda: len(driver.sent) == 2)
        assert [body['number'] for _, body in driver.sent] == [0, 1]
        assert undone == []

    def test_keeps_its_place_if_the_try_fails(
            self, retrier, driver, undone, monkeypatch, caplog):
        driver.gone.add('late')
        send(retrier, a_reply('late'), undone)
        failed = []

        def fail(reply):
            failed.append(reply)
            raise OSError('no broker')
        retrier._sent = fail
        wait_for(lambda: len(failed) > 1)
        driver.gone.clear()
        del retrier._sent
        wait_for(lambda: len(driver.sent) == 1)
        assert undone == []


def test_the_others_may_make_room_first(retrier, driver, undone):
    """Who looks for somebody to give up then finds nobody."""
    retrier._too_many = iter([True, False]).__next__
    retrier._abandon = lambda queue, why: None
    retrier._missing = type('Gone', (dict,), {
        '__iter__': lambda self: iter(())})()
    driver.gone.add('late')
    send(retrier, a_reply('late'), undone)
    retrier._missing = {}
    del retrier._abandon


def test_a_queue_s_time_begins_anew_with_the_broker(
        retrier, driver, undone, monkeypatch):
    """Callers may find it later than the service does."""
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


def test_a_stop_waits_three_seconds_more_for_the_last_try(retrier):
    waits = []
    retrier._thread = types.SimpleNamespace(join=waits.append)
    retrier.close(7)
    retrier._thread = None
    assert waits == [7, 3]


def test_replies_wait_for_a_queue_a_thousand_at_a_time(retrier):
    """And 64 MiB of them, beyond which room is made."""
    def too_many(number, size):
        missing = replies._MissingQueue(60)
        missing.replies.extend(a_reply('q', size=size)
                               for _ in range(number))
        retrier._missing = {'q': missing}
        try:
            return retrier._too_many()
        finally:
            retrier._missing = {}
    assert not too_many(1000, 1)
    assert too_many(1001, 1)
    assert not too_many(1, 64 << 20)
    assert too_many(2, (32 << 20) + 1)


def test_one_that_no_thread_can_send_later_is_lost_at_once(
        retrier, driver, undone):
    """What its call has done is undone as of any reply that is lost."""
    driver.gone.add('away')
    with no_thread(), pytest.raises(RuntimeError, match='new thread'):
        send(retrier, a_reply('away', 1), undone)
    call_scope.reply_is_lost()
    assert undone == [1]

    send(retrier, a_reply('away', 2), undone)
    driver.gone.clear()
    wait_for(lambda: driver.sent)

    assert [body['number'] for _, body in driver.sent] == [2]
    assert undone == [1]


def test_a_call_is_undone_once_also_where_no_thread_does_it(
        retrier, driver, undone):
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


def test_one_that_was_sent_later_keeps_nothing_of_its_call(
        retrier, driver, undone):
    driver.gone.add('away')
    send(retrier, reply := a_reply('away'), undone)
    assert reply.undo
    driver.gone.clear()
    wait_for(lambda: driver.sent)

    wait_for(lambda: not reply.undo)


def test_one_that_is_sent_again_undoes_nothing(retrier, driver, undone,
                                               caplog):
    """Whatever becomes of it: its call was answered before."""
    driver.gone.add('here')
    send(retrier, reply := a_reply('here'), undone)
    driver.gone.clear()
    wait_for(lambda: driver.sent)
    driver.gone.add('here')

    wait_for(lambda: retrier._thread is None)
    with no_thread():
        retrier.send_again(reply)
    assert "Cannot resend a reply to new thread" in caplog.text
    retrier.send_again(reply)
    wait_for(lambda: driver.tries > 3)
    retrier.close(0)

    assert undone == []
    assert [queue for queue, _ in driver.sent] == ['here']


class TestSentReplies:
    def test_are_kept_by_their_calls(self):
        sent = replies.SentReplies()
        reply = a_reply('here')
        sent.keep('u', reply)
        assert sent.get('u') is reply
        assert sent.get('v') is None

    def test_are_not_where_nothing_was_sent(self):
        sent = replies.SentReplies()
        sent.keep('u', replies.PendingReply())
        assert sent.get('u') is None

    def test_are_forgotten_when_they_are_many(self):
        sent = replies.SentReplies()
        for number in range(replies.MAX_SENT + 1):
            sent.keep(number, a_reply('here'))
        assert sent.get(0) is None
        assert sent.get(1)

    def test_are_forgotten_when_they_are_large(self, monkeypatch):
        monkeypatch.setattr(replies, 'MAX_BYTES', 100)
        sent = replies.SentReplies()
        for number in range(3):
            sent.keep(number, a_reply('here', size=40))
        assert [bool(sent.get(number)) for number in range(3)] == [
            False, True, True]
