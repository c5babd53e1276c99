"""All threads work, callers are gone, or an operator removes queues.

The next call is answered soon in each case.
"""

import threading
import time
import uuid

import oslo_messaging as messaging
import pytest

from nova_sched.rpc import listener
from nova_sched.rpc import replies
from tests.functional import processes
from tests.functional import raw_bus
from tests.functional.processes import PATIENCE
from tests.functional.processes import SOON
from tests.functional.processes import until

pytestmark = pytest.mark.real

#: A broker closes a connection after two to three times as many seconds
#: without a heartbeat.
HEARTBEAT = 2
#: Seconds that replies to a missing queue are retried: longer than a test.
MISSING = 10 * PATIENCE
RABBIT = 'oslo_messaging_rabbit__'


@pytest.fixture
def serve(bus):
    """Function of endpoints and options: a context with an Endpoint."""
    return lambda *others, **options: raw_bus.serving(bus, *others, **{
        f'{RABBIT}kombu_missing_consumer_retry_timeout': MISSING, **options})


def lost_queue():
    return f'gone-{uuid.uuid4().hex}'


class Ping:
    """A part of the baseapi endpoint."""

    target = messaging.Target(namespace='baseapi', version='1.1')

    def ping(self, ctxt):
        return 'pong'


@pytest.fixture
def busy(bus, serve):
    """The Endpoint of a server with one busy thread and one waiting call."""
    options = {'DEFAULT__executor_thread_pool_size': 1,
               f'{RABBIT}heartbeat_timeout_threshold': HEARTBEAT}
    with serve(Ping(), **options) as endpoint:
        bus.call('work')
        assert endpoint.begun.acquire(timeout=PATIENCE)
        bus.call(args={'arg': 'next'})
        yield endpoint


def test_server_without_a_free_thread_keeps_its_connection(
        bus, busy, caplog):
    time.sleep(4 * HEARTBEAT)
    busy.done.set()

    assert [bus.reply()['result'] for _ in range(2)] == ['done', 'next']
    for trouble in ('Reconnected', 'unreachable', 'heartbeat'):
        assert trouble not in caplog.text


def test_ping_behind_calls_is_answered_while_no_thread_is_free(bus, busy):
    """The worker has prefetched the calls; all get answers later."""
    asked = [bus.call(args={'arg': str(number)}) for number in range(10)]
    bus.call('ping', namespace='baseapi')

    assert bus.reply()['result'] == 'pong'
    busy.done.set()
    assert [bus.reply()['result'] for _ in range(2)] == ['done', 'next']
    assert [bus.reply()['_msg_id'] for _ in asked] == asked
    bus.call(args={'arg': 'good'})
    assert bus.reply(SOON)['result'] == 'good'


def test_waiting_calls_are_requeued_when_the_server_stops(bus, serve):
    """They are not acknowledged, and the next server gets them."""
    with serve(DEFAULT__executor_thread_pool_size=1) as endpoint:
        asked = {bus.call('work')}
        assert endpoint.begun.acquire(timeout=PATIENCE)
        asked |= {bus.call() for _ in range(5)}
    with serve():
        assert {bus.reply()['_msg_id'] for _ in asked} == asked


def test_gone_callers_hold_no_thread(bus, serve):
    with serve(DEFAULT__executor_thread_pool_size=2):
        for _ in range(20):
            bus.call(queue=lost_queue())
        bus.call(args={'arg': 'good'})

        assert bus.reply(SOON)['result'] == 'good'


def test_stop_does_not_wait_for_gone_callers(
        bus, serve, monkeypatch, caplog):
    monkeypatch.setattr(replies, 'GRACE', 0.1)
    with serve():
        for _ in range(20):
            bus.call(queue=lost_queue())
        bus.call(args={'arg': 'good'})
        assert bus.reply()['result'] == 'good'
        began = time.monotonic()
    assert time.monotonic() - began < SOON
    assert caplog.text.count('the service stops') == 20


def test_late_caller_gets_all_its_replies(bus, serve):
    with serve():
        queue = lost_queue()
        asked = {bus.call(queue=queue) for _ in range(3)}
        until(lambda: 'replies' in [thread.name for thread
                                    in threading.enumerate()],
              'a reply finds no queue')
        with bus.replies_to(queue) as reply:
            assert {reply()['_msg_id'] for _ in asked} == asked


@pytest.mark.parametrize('remove', [
    lambda channel, topic: channel.exchange_delete(topic),
    lambda channel, topic: channel.queue_delete(topic),
    lambda channel, topic: channel.queue_unbind(topic, topic, topic)],
    ids=['exchange', 'queue', 'binding'])
def test_removed_queue_or_exchange_is_declared_again(
        bus, serve, monkeypatch, remove):
    monkeypatch.setattr(listener, 'CHECK_INTERVAL', 0.5)
    with serve():
        remove(bus.connection.default_channel, bus.topic)

        def answered():
            # Clients declare the exchange before they send.
            bus.connection.default_channel.exchange_declare(
                bus.topic, 'topic', durable=False, auto_delete=False)
            bus.call()
            return bus.answered(1)
        assert until(answered, 'a call is answered', SOON)


def test_loop_turns_while_the_broker_is_away(bus):
    """The watchdog must not end such a worker."""
    with (processes.door_to(bus.url) as door,
          raw_bus.serving(bus, url=door.url) as endpoint):
        door.close()
        for _ in range(2):
            last = endpoint.server.polled_at
            until(lambda last=last: endpoint.server.polled_at > last,
                  'it turns')
        door.open()
        bus.call()
        assert bus.reply()
    assert endpoint.server.polled_at is None


def test_loop_turns_while_no_thread_is_free(busy):
    polled_at = busy.server.polled_at
    until(lambda: busy.server.polled_at > polled_at + 1, 'it turns')
