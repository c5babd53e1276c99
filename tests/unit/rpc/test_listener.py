"""How requests are read and taken, and how long that is held up by whom."""

import logging
import types

import amqp
import pytest

from nova_sched.rpc import listener as rpc_listener
from tests.builders.listeners import a_listener
from tests.builders.listeners import arrives

TIMEOUT = rpc_listener.amqpdriver.rpc_common.Timeout


@pytest.fixture
def listener():
    return a_listener()


class TestTaking:
    """A request is acknowledged when somebody works on it."""

    @pytest.fixture
    def heard(self, listener):
        """A request that waits, and its kombu message."""
        raw = arrives(listener, '{"method":"a","_unique_id":"u"}')
        [request] = listener.incoming
        assert raw.channel.acknowledged == []
        return request, raw.channel

    def test_acknowledges_it(self, listener, heard):
        request, channel = heard
        assert listener.take(request)
        assert channel.acknowledged == [1]

    def test_again_is_not_done(self, listener, heard):
        """It comes once more where its acknowledgement was lost."""
        listener.take(heard[0])
        raw = arrives(listener, '{"method":"a","_unique_id":"u"}')
        assert len(listener.incoming) == 1
        assert raw.channel.acknowledged == [1]

    def test_is_left_to_whoever_gets_it_from_the_broker(
            self, listener, heard, caplog):
        caplog.set_level(logging.INFO, 'nova_sched')
        request, channel = heard
        channel.broken = True
        assert not listener.take(request)
        assert 'goes back to the broker' in caplog.text
        arrives(listener, '{"method":"a","_unique_id":"u"}')
        assert len(listener.incoming) == 2

    @pytest.mark.parametrize(('ours', 'tag', 'taken'), [
        (True, 1, False), (True, 2, True), (False, 1, True)])
    def test_fails_where_its_consumer_has_begun_anew(
            self, listener, heard, monkeypatch, ours, tag, taken):
        """The broker gives it to somebody again."""
        begun = []
        monkeypatch.setattr(rpc_listener.Consumer.__base__, 'consume',
                            lambda self, conn, tag: begun.append(tag))
        consumer = object.__new__(rpc_listener.Consumer)
        consumer.callback = listener if ours else print
        consumer.consume(None, tag)
        request, channel = heard
        assert listener.take(request) is taken
        assert channel.acknowledged == [1] * taken
        assert begun == [tag]


class TestReading:
    @pytest.fixture
    def reads(self, listener):
        """The seconds that each look at the connection may take."""
        reads = []
        listener.conn = types.SimpleNamespace(
            consume=lambda timeout: reads.append(timeout))
        return reads

    def test_while_no_thread_is_free_takes_100_messages_at_a_time(
            self, listener, reads):
        listener.incoming[:] = [*'abcd']
        listener.look(lambda request: request in 'bd')
        assert reads == [0.001] * 100
        assert listener.incoming == ['a', 'c']

    def test_ends_with_the_first_that_does_not_come(self, listener, reads):
        def consume(timeout):
            reads.append(timeout)
            raise TIMEOUT
        listener.conn.consume = consume
        listener.look(lambda request: False)
        assert reads == [0.001]

    def test_gives_one_message_at_a_time_in_their_order(
            self, listener, reads):
        listener.incoming[:] = [*'ab']
        assert [listener.poll(), listener.poll()] == [['a'], ['b']]
        assert reads == []

    def test_waits_until_one_comes(self, listener, reads):
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
        """What waits goes back to the broker."""
        listener.incoming.append('a')
        assert not listener._shutoff.is_set()
        listener._shutdown.set()
        assert listener.poll() == []
        assert listener._shutoff.is_set()
        assert listener.incoming == ['a']
        assert reads == []


def test_the_loop_has_turned_at_each_read(listener, monkeypatch):
    """However many messages there are, and however long each takes."""
    clock, seen = [listener.turned], []
    monkeypatch.setattr(rpc_listener.time, 'monotonic', lambda: clock[0])

    def consume(timeout):
        seen.append(clock[0] - listener.turned)
        clock[0] += 1
        if len(seen) > 5:
            raise TIMEOUT
    listener.conn = types.SimpleNamespace(consume=consume)

    listener.look(lambda request: False)

    assert seen == [0] * 6


class Consumer(types.SimpleNamespace):
    """Of a queue; one is not another."""

    __hash__ = object.__hash__


class Rabbit:
    """A connection of the driver; timeouts: as they were set.

    error: of binding a queue, or None.  closed: channels that were.
    """

    def __init__(self, connected=True, error=None):
        self.connection, self.connected = self, connected
        self.opened, self.timeouts, self.closed = 0, [], []
        self._error, self.bound = error, []
        self.begun_again = None
        self._consumers = {self._consumer('queue'): 1,
                           Consumer(queue=None): 2,
                           self._consumer('fanout'): 3}

    def _consumer(self, name):
        def queue_bind(channel):
            assert self.timeouts == [rpc_listener.PATIENCE]
            assert channel.number == self.opened
            if self._error:
                raise self._error
            self.bound.append(name)
        return Consumer(queue=types.SimpleNamespace(queue_bind=queue_bind))

    def channel(self):
        self.opened += 1
        number = self.opened
        return types.SimpleNamespace(
            number=number, close=lambda: self.closed.append(number))

    def set_transport_socket_timeout(self, timeout=None):
        self.timeouts.append(timeout)

    def _set_current_channel(self, channel):
        self.begun_again = channel, self._new_tags


class TestBindings:
    @pytest.fixture
    def look(self, listener):
        """Function of a Rabbit: it, after a look at its bindings."""
        def look(rabbit):
            listener.conn = types.SimpleNamespace(connection=rabbit)
            listener._look_at_bindings()
            return rabbit
        return look

    def test_are_made_again_on_a_channel_of_their_own(self, look):
        rabbit = look(Rabbit())
        assert rabbit.bound == ['queue', 'fanout']
        assert rabbit.closed == [1]
        assert rabbit.begun_again is None

    def test_are_not_looked_at_where_there_is_no_connection(self, look):
        """A channel would open one on which nobody consumes."""
        rabbit = look(Rabbit(connected=False))
        assert rabbit.opened == 0
        assert rabbit.timeouts == []

    @pytest.mark.parametrize('error', [None, ConnectionResetError(),
                                       amqp.NotFound('no exchange')])
    def test_leave_the_connections_patience_as_it_was(self, look, error):
        rabbit = look(Rabbit(error=error))
        assert rabbit.opened == 1
        assert rabbit.timeouts == [rpc_listener.PATIENCE, None]
        assert rabbit.closed == [1]

    @pytest.mark.parametrize('error', [
        amqp.NotFound('no exchange nova'), amqp.ConsumerCancelled('gone')])
    def test_that_cannot_be_made_have_all_declared_again(
            self, look, error, caplog):
        rabbit = look(Rabbit(error=error))
        assert rabbit.begun_again == (None, {1, 2, 3})
        [line] = caplog.messages
        assert line.startswith('What requests come by is gone from the broker')

    def test_that_a_broker_does_not_tell_of_stay(self, look, caplog):
        rabbit = look(Rabbit(error=ConnectionResetError()))
        assert rabbit.begun_again is None
        assert caplog.messages == []

    def test_are_looked_at_every_ten_seconds(self, listener, monkeypatch):
        clock, looks, start = [0], [], listener.turned
        monkeypatch.setattr(rpc_listener.time, 'monotonic',
                            lambda: start + clock[0])
        listener._look_at_bindings = lambda: looks.append(clock[0])
        for clock[0] in range(35):
            listener._turn()
            assert listener.turned == start + clock[0]
        assert looks == [11, 22, 33]
