"""Reading and taking of requests, and redelivered calls."""

import logging
import types

from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched.rpc import listener as rpc_listener
from tests.builders.listeners import a_consumer
from tests.builders.listeners import a_listener
from tests.builders.listeners import arrives

TIMEOUT = rpc_listener.amqpdriver.rpc_common.Timeout


@pytest.fixture
def listener():
    return a_listener()


class TestTake:
    """A request is acknowledged when a thread takes it."""

    @pytest.fixture
    def received(self, listener):
        """A request that waits, and its channel."""
        channel = arrives(listener, '{"method":"a","_unique_id":"u"}')
        [request] = listener.incoming
        assert channel.acknowledged == []
        return request, channel

    def test_drops_a_redelivered_request(self, listener, received, caplog):
        caplog.set_level(logging.DEBUG)
        request, channel = received
        assert request.take()
        assert channel.acknowledged == [1]
        caplog.clear()
        channel = arrives(listener, '{"method":"a","_unique_id":"u"}')
        assert len(listener.incoming) == 1
        assert channel.acknowledged == [1]
        assert [(record.levelname, record.getMessage())
                for record in caplog.records] == [
            ('DEBUG', 'Message u is a duplicate')]

    def test_fails_if_acknowledgement_does(self, listener, received, caplog):
        caplog.set_level(logging.INFO, 'nova_sched')
        request, channel = received
        channel.broken = True
        assert not request.take()
        assert 'A request is requeued' in caplog.text
        arrives(listener, '{"method":"a","_unique_id":"u"}')
        assert len(listener.incoming) == 2

    @pytest.mark.parametrize(('tag', 'taken'), [(1, False), (2, True)])
    def test_fails_after_a_new_subscription_of_its_consumer(
            self, listener, received, monkeypatch, tag, taken):
        """The broker has requeued the request."""
        monkeypatch.setattr(impl_rabbit.Consumer, 'consume',
                            lambda self, conn, tag: None)
        a_consumer(listener).consume(None, tag)
        request, channel = received
        assert request.take() is taken
        assert channel.acknowledged == [1] * taken

    @pytest.mark.parametrize('is_taken', [True, False])
    def test_or_acknowledge_sends_one_acknowledgement(
            self, listener, received, is_taken):
        """From the thread that reads: connections are not thread-safe."""
        request, channel = received
        listener.incoming.clear()
        if is_taken:
            request.take()
        request.acknowledge()
        assert channel.acknowledged == [1] * is_taken
        listener.conn = types.SimpleNamespace(
            consume=lambda timeout: listener._shutdown.set(),
            note_alive=lambda: None)
        listener.poll()
        assert channel.acknowledged == [1]


CALL = '{"method":"a","_unique_id":"u","_msg_id":"m","_reply_q":"q"}'


class TestRedeliveredCall:
    """Its acknowledgement was lost."""

    def receive(self, listener):
        """The request of a message, and its channel."""
        channel = arrives(listener, CALL)
        return listener.incoming.pop(), channel

    def test_is_acknowledged_and_not_taken_again(self, listener):
        assert self.receive(listener)[0].take()
        request, channel = self.receive(listener)
        assert not request.take()
        assert channel.acknowledged == [1]

    def test_reply_is_sent_and_recorded_after_connection_closed(
            self, listener):
        sent, answered = [], []
        listener.retrier = types.SimpleNamespace(send=sent.append)
        listener.taken_calls.answered = answered.append
        request, _ = self.receive(listener)
        listener.conn = None
        request.reply('hosts')
        [reply] = sent
        assert (reply.queue, answered) == ('q', ['m u'])
        assert '"result": "hosts"' in reply.body['oslo.message']

    def test_is_taken_if_the_first_acknowledgement_failed(self, listener):
        request, channel = self.receive(listener)
        channel.broken = True
        assert not request.take()
        assert self.receive(listener)[0].take()

    @pytest.mark.parametrize('second', [
        CALL.replace('"m"', '"n"'),
        '{"method":"a","_msg_id":"m","_reply_q":"q"}'])
    def test_is_known_by_both_its_ids(self, listener, second):
        for call in (CALL, second, second.replace('"u",', '"v",')):
            arrives(listener, call)
            assert listener.incoming.pop().take()


class TestReading:
    @pytest.fixture
    def reads(self, listener):
        """The timeout of each read."""
        reads = []
        listener.conn = types.SimpleNamespace(
            consume=lambda timeout: reads.append(timeout),
            note_alive=lambda: None)
        return reads

    def test_reads_100_messages_while_no_thread_is_free(self, listener, reads):
        listener.incoming[:] = [*'abcd']
        listener.read_available(lambda request: request in 'bd')
        assert reads == [0.001] * 100
        assert listener.incoming == ['a', 'c']

    def test_ends_when_no_message_is_available(self, listener, reads):
        def consume(timeout):
            reads.append(timeout)
            raise TIMEOUT
        listener.conn.consume = consume
        listener.read_available(lambda request: False)
        assert reads == [0.001]

    def test_returns_one_message_at_a_time_in_order(self, listener, reads):
        listener.incoming[:] = [*'ab']
        assert [listener.poll(), listener.poll()] == [['a'], ['b']]
        assert reads == []

    def test_waits_for_a_message(self, listener, reads):
        def consume(timeout):
            reads.append(timeout)
            if len(reads) == 2:
                raise TIMEOUT
            if len(reads) == 3:
                listener.incoming.append('a')
        listener.conn.consume = consume
        assert listener.poll() == ['a']
        assert reads == [0.5] * 3

    def test_ends_with_the_stop(self, listener, reads):
        """Waiting messages are requeued."""
        listener.incoming.append('a')
        assert not listener._shutoff.is_set()
        listener._shutdown.set()
        assert listener.poll() == []
        assert listener._shutoff.is_set()
        assert listener.incoming == ['a']
        assert reads == []


def test_each_read_is_a_poll(listener, monkeypatch):
    """Many slow messages are no hung loop."""
    clock, ages = [listener.polled_at], []
    monkeypatch.setattr(rpc_listener.time, 'monotonic', lambda: clock[0])

    def consume(timeout):
        ages.append(clock[0] - listener.polled_at)
        clock[0] += 1
        if len(ages) > 5:
            raise TIMEOUT
    listener.conn = types.SimpleNamespace(
        consume=consume, note_alive=lambda: None)

    listener.read_available(lambda request: False)

    assert ages == [0] * 6


def test_bindings_are_checked_every_ten_seconds(listener, monkeypatch):
    clock, looks, start = [0], [], listener.polled_at
    monkeypatch.setattr(rpc_listener.time, 'monotonic',
                        lambda: start + clock[0])
    listener.conn = types.SimpleNamespace(
        bind_again=lambda: looks.append(clock[0]))
    for clock[0] in range(35):
        listener._process_due()
        assert listener.polled_at == start + clock[0]
    assert looks == [11, 22, 33]
