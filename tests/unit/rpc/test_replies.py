"""Replies that find no queue: who keeps them, and how many, and how long."""

import contextlib
import threading
import types

import oslo_messaging as messaging
import pytest

from nova_sched.rpc import replies
from nova_sched.rpc import undo
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
def letters(driver, monkeypatch):
    """Letters on a driver, with those given up in ``given_up``."""
    monkeypatch.setattr(replies, 'PAUSE', 0.01)
    given_up = []
    letters = replies.Letters(
        driver, lambda queue, calls: given_up.append(queue))
    letters.given_up = given_up
    yield letters
    driver.gone.clear()
    driver.go_on.set()
    letters.close(20)


@pytest.fixture
def undone():
    return []


def a_letter(queue, number=0, size=10):
    letter = replies.Letter()
    letter.direct_send(queue, {'number': number, 'oslo.message': ' ' * size})
    return letter


def send(letters, letter, undone):
    """Send it for a call that has done something."""
    undo.begin()
    undo.undo_if_lost(lambda: undone.append(letter.body['number']))
    letters.send(letter)


def test_one_that_arrives_is_kept_by_nobody(letters, driver, undone):
    send(letters, a_letter('here'), undone)

    assert len(driver.sent) == 1
    assert letters._thread is None
    assert len(undo.take()) == 1


def test_they_arrive_in_their_order_when_the_queue_is_there(
        letters, driver, undone):
    driver.gone.add('late')
    for number in range(5):
        send(letters, a_letter('late', number), undone)
    assert undo.take() == []

    driver.gone.clear()
    wait_for(lambda: len(driver.sent) == 5)

    assert [body['number'] for _, body in driver.sent] == [*range(5)]
    wait_for(lambda: letters._thread is None)
    assert undone == []
    assert letters.given_up == []


def test_those_to_one_caller_are_one_try_at_a_time(letters, driver, undone):
    """However many there are; none of them is tried by who works."""
    driver.gone.add('late')
    send(letters, a_letter('late'), undone)
    letters._hand_over = lambda queue, caller: None
    tries = driver.tries
    for number in range(100):
        send(letters, a_letter('late', number), undone)
    assert driver.tries <= tries + 1
    del letters._hand_over


def test_those_to_others_do_not_wait(letters, driver, undone):
    driver.gone.add('late')
    send(letters, a_letter('late'), undone)
    send(letters, a_letter('here'), undone)
    assert [queue for queue, _ in driver.sent] == ['here']


def test_what_their_calls_did_is_undone_when_their_time_is_over(
        letters, driver, undone, caplog):
    driver.missing_destination_retry_timeout = 0.1
    driver.gone.add('gone')
    for number in range(3):
        send(letters, a_letter('gone', number), undone)

    wait_for(lambda: undone == [0, 1, 2])
    assert letters.given_up == ['gone']
    assert caplog.text.count('Abandoning 3 replies to gone') == 1


@pytest.mark.parametrize(('limit', 'value'), [
    ('LETTERS', 4), ('LETTER_BYTES', 45)])
def test_the_caller_that_has_waited_longest_makes_room(
        letters, driver, undone, monkeypatch, limit, value):
    monkeypatch.setattr(replies, limit, value)
    driver.gone |= {'first', 'second'}
    for number in range(3):
        send(letters, a_letter('first', number), undone)
    for number in range(3, 6):
        send(letters, a_letter('second', number), undone)

    wait_for(lambda: undone == [0, 1, 2])
    assert letters.given_up == ['first']


def test_a_stop_gives_up_what_finds_no_queue(letters, driver, undone):
    driver.gone.add('gone')
    send(letters, a_letter('gone'), undone)

    letters.close(0.1)

    assert undone == [0]


def test_the_time_that_a_try_waits_for_the_broker_does_not_count(letters):
    letters._callers['late'] = caller = replies._Caller(60)
    before = caller.deadline
    letters._prolong(0.5)
    assert caller.deadline == before
    letters._prolong(600)
    assert caller.deadline == before + 600
    del letters._callers['late']


def test_one_thread_tries_them_all(letters, driver, undone):
    before = threading.active_count()
    for number in range(20):
        driver.gone.add(f'gone {number}')
        send(letters, a_letter(f'gone {number}'), undone)
    assert threading.active_count() <= before + 1


class TestOneThatIsBeingSent:
    """While others give up what waits for the same queue."""

    @pytest.fixture
    def on_its_way(self, letters, driver, undone):
        """A letter that the thread is about to send."""
        driver.gone.add('late')
        send(letters, a_letter('late'), undone)
        driver.go_on.clear()
        driver.trying.clear()
        assert driver.trying.wait(20)

    def test_is_not_undone_if_it_arrives(
            self, letters, driver, undone, on_its_way):
        letters._give_up('late', 'a test')
        driver.gone.clear()
        driver.go_on.set()
        wait_for(lambda: letters._thread is None)
        letters.close(1)
        assert len(driver.sent) == 1
        assert undone == []

    def test_is_undone_if_it_does_not(
            self, letters, driver, undone, on_its_way):
        letters._give_up('late', 'a test')
        driver.go_on.set()
        wait_for(lambda: undone == [0])
        assert driver.sent == []
        assert letters.given_up == ['late']

    def test_is_undone_after_the_stop_too(
            self, letters, driver, undone, on_its_way, monkeypatch):
        monkeypatch.setattr(replies, 'LAST_TRY', 0.01)
        letters.close(0.01)
        assert undone == []
        driver.go_on.set()
        wait_for(lambda: undone == [0])
        assert driver.sent == []

    def test_is_waited_for_by_a_stop(
            self, letters, driver, undone, on_its_way, caplog):
        threading.Timer(0.1, driver.go_on.set).start()
        letters.close(0.01)
        assert undone == [0]
        assert caplog.text.count('the service stops') == 1

    def test_keeps_its_place_if_it_does_not_arrive_yet(
            self, letters, driver, undone, on_its_way):
        send(letters, a_letter('late', 1), undone)
        driver.go_on.set()
        wait_for(lambda: driver.tries > 3)
        driver.gone.clear()
        wait_for(lambda: len(driver.sent) == 2)
        assert [body['number'] for _, body in driver.sent] == [0, 1]
        assert undone == []

    def test_keeps_its_place_if_the_try_fails(
            self, letters, driver, undone, monkeypatch, caplog):
        driver.gone.add('late')
        send(letters, a_letter('late'), undone)
        failed = []

        def fail(letter):
            failed.append(letter)
            raise OSError('no broker')
        letters._sent = fail
        wait_for(lambda: len(failed) > 1)
        driver.gone.clear()
        del letters._sent
        wait_for(lambda: len(driver.sent) == 1)
        assert undone == []


def test_the_others_may_make_room_first(letters, driver, undone):
    """Who looks for somebody to give up then finds nobody."""
    letters._too_many = iter([True, False]).__next__
    letters._give_up = lambda queue, why: None
    letters._callers = type('Gone', (dict,), {
        '__iter__': lambda self: iter(())})()
    driver.gone.add('late')
    send(letters, a_letter('late'), undone)
    letters._callers = {}
    del letters._give_up


def test_a_queue_s_time_begins_anew_with_the_broker(
        letters, driver, undone, monkeypatch):
    """Callers may find it later than the service does."""
    clock, wait = [0], replies.time.sleep
    monkeypatch.setattr(replies, 'time', types.SimpleNamespace(
        monotonic=lambda: clock[0], sleep=wait))
    driver.gone.add('late')
    send(letters, a_letter('late'), undone)
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


def test_a_stop_waits_three_seconds_more_for_the_last_try(letters):
    waits = []
    letters._thread = types.SimpleNamespace(join=waits.append)
    letters.close(7)
    letters._thread = None
    assert waits == [7, 3]


def test_replies_wait_for_a_queue_a_thousand_at_a_time(letters):
    """And 64 MiB of them, beyond which room is made."""
    def too_many(number, size):
        caller = replies._Caller(60)
        caller.letters.extend(a_letter('q', size=size)
                              for _ in range(number))
        letters._callers = {'q': caller}
        try:
            return letters._too_many()
        finally:
            letters._callers = {}
    assert not too_many(1000, 1)
    assert too_many(1001, 1)
    assert not too_many(1, 64 << 20)
    assert too_many(2, (32 << 20) + 1)
