"""How requests are read and taken, and what does not hold that up."""

import logging
import types

from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched.rpc import listener as rpc_listener
from nova_sched.rpc.taken_calls import Holder
from tests.builders.listeners import a_consumer
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
        """A request that waits, and the channel that it came by."""
        channel = arrives(listener, '{"method":"a","_unique_id":"u"}')
        [request] = listener.incoming
        assert channel.acknowledged == []
        return request, channel

    def test_acknowledges_it(self, heard):
        request, channel = heard
        assert request.take()
        assert channel.acknowledged == [1]

    def test_again_is_not_done(self, listener, heard, caplog):
        """It comes once more where its acknowledgement was lost."""
        caplog.set_level(logging.DEBUG)
        heard[0].take()
        caplog.clear()
        channel = arrives(listener, '{"method":"a","_unique_id":"u"}')
        assert len(listener.incoming) == 1
        assert channel.acknowledged == [1]
        assert [(record.levelname, record.getMessage())
                for record in caplog.records] == [
            ('DEBUG', 'Message u is a duplicate')]

    def test_is_left_to_whoever_gets_it_from_the_broker(
            self, listener, heard, caplog):
        caplog.set_level(logging.INFO, 'nova_sched')
        request, channel = heard
        channel.broken = True
        assert not request.take()
        assert 'is requeued' in caplog.text
        arrives(listener, '{"method":"a","_unique_id":"u"}')
        assert len(listener.incoming) == 2

    @pytest.mark.parametrize(('tag', 'taken'), [(1, False), (2, True)])
    def test_fails_where_its_consumer_has_begun_anew(
            self, listener, heard, monkeypatch, tag, taken):
        """The broker gives it to somebody again."""
        begun = []
        monkeypatch.setattr(impl_rabbit.Consumer, 'consume',
                            lambda self, conn, tag: begun.append(tag))
        a_consumer(listener).consume(None, tag)
        request, channel = heard
        assert request.take() is taken
        assert channel.acknowledged == [1] * taken
        assert begun == [tag]

    def test_is_done_for_a_server_that_only_acknowledges(
            self, listener, heard):
        """In the thread that reads, as a connection is no other's."""
        request, channel = heard
        listener.incoming.clear()
        request.acknowledge()
        assert channel.acknowledged == []
        listener.conn = types.SimpleNamespace(
            consume=lambda timeout: listener._shutdown.set(),
            note_alive=lambda: None)
        listener.poll()
        assert channel.acknowledged == [1]

    def test_is_done_once(self, listener, heard):
        """Also where the library acknowledges what is worked on."""
        request, channel = heard
        request.take()
        request.acknowledge()
        listener._shutdown.set()
        listener._message_operations_handler.process()
        assert channel.acknowledged == [1]


CALL = '{"method":"a","_unique_id":"u","_msg_id":"m","_reply_q":"q"}'


class TestACallThatComesAgain:
    """As where its acknowledgement is lost."""

    @pytest.fixture
    def listener(self):
        made = a_listener()
        made.sent, made.again = [], []
        made.retrier = types.SimpleNamespace(
            send=made.sent.append, send_again=made.again.append)
        return made

    def hear(self, listener):
        """The request that a message makes, and the channel that it came by.
        """
        channel = arrives(listener, CALL)
        return listener.incoming.pop(), channel

    def test_is_not_taken_again(self, listener):
        assert self.hear(listener)[0].take()
        request, channel = self.hear(listener)
        assert not request.take()
        assert channel.acknowledged == [1]
        assert listener.again == []

    def test_is_answered_again_if_it_was(self, listener):
        request, _ = self.hear(listener)
        request.take()
        request.reply('hosts')
        assert not self.hear(listener)[0].take()
        [again] = listener.again
        assert again.queue == 'q'
        assert '"result": "hosts"' in again.body['oslo.message']

    def test_is_answered_when_its_connection_is_closed(self, listener):
        """By another, as in a stop."""
        request, _ = self.hear(listener)
        request.take()
        listener.conn = None
        request.reply('hosts')
        assert [reply.queue for reply in listener.sent] == ['q']

    def test_is_left_to_another_worker_that_took_it(
            self, listener, monkeypatch):
        request, channel = self.hear(listener)
        monkeypatch.setattr(listener.taken_calls, 'take',
                            lambda call_id: Holder.ANOTHER_WORKER)
        assert not request.take()
        assert channel.acknowledged == [1]
        assert listener.again == []

    def test_is_taken_where_its_acknowledgement_was_not_sent(self, listener):
        request, channel = self.hear(listener)
        channel.broken = True
        assert not request.take()
        assert self.hear(listener)[0].take()

    def test_is_another_one_where_another_answer_is_waited_for(
            self, listener):
        for msg_id in 'mn':
            arrives(listener, CALL.replace('"m"', f'"{msg_id}"'))
            assert listener.incoming.pop().take()

    def test_is_taken_where_it_has_no_id(self, listener):
        for _ in range(2):
            arrives(listener, '{"method":"a","_msg_id":"m","_reply_q":"q"}')
            assert listener.incoming.pop().take()


class TestReading:
    @pytest.fixture
    def reads(self, listener):
        """The seconds that each look at the connection may take."""
        reads = []
        listener.conn = types.SimpleNamespace(
            consume=lambda timeout: reads.append(timeout),
            note_alive=lambda: None)
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
    clock, seen = [listener.polled_at], []
    monkeypatch.setattr(rpc_listener.time, 'monotonic', lambda: clock[0])

    def consume(timeout):
        seen.append(clock[0] - listener.polled_at)
        clock[0] += 1
        if len(seen) > 5:
            raise TIMEOUT
    listener.conn = types.SimpleNamespace(
        consume=consume, note_alive=lambda: None)

    listener.look(lambda request: False)

    assert seen == [0] * 6


def test_bindings_are_looked_at_every_ten_seconds(listener, monkeypatch):
    clock, looks, start = [0], [], listener.polled_at
    monkeypatch.setattr(rpc_listener.time, 'monotonic',
                        lambda: start + clock[0])
    listener.conn = types.SimpleNamespace(
        bind_again=lambda: looks.append(clock[0]))
    for clock[0] in range(35):
        listener._process_due()
        assert listener.polled_at == start + clock[0]
    assert looks == [11, 22, 33]
