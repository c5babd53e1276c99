"""How long the loop that reads requests is held up, and by whom."""

import bz2
import json
import types

from kombu import message as kombu_message
import pytest

from nova_sched.objects import bounds
from nova_sched.rpc import listener as rpc_listener

TIMEOUT = rpc_listener.amqpdriver.rpc_common.Timeout


class Driver:
    prefetch_size = 16
    missing_destination_retry_timeout = 60


class Channel:
    no_ack_consumers = frozenset()

    def __init__(self):
        self.acknowledged, self.rejected = [], []

    def basic_ack(self, tag, **_):
        self.acknowledged.append(tag)

    def basic_reject(self, tag, **_):
        self.rejected.append(tag)


@pytest.fixture
def listener():
    return rpc_listener.Listener(Driver(), None)


def arrives(listener, content, packed=False):
    """Have a listener hear a message: the kombu message."""
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': content})
    headers = {}
    if packed:
        body = bz2.compress(body.encode())
        headers = {'compression': 'application/x-bz2'}
    raw = kombu_message.Message(
        body=body, delivery_tag=1, content_type='application/json',
        content_encoding='utf-8', headers=headers, channel=Channel(),
        delivery_info={'routing_key': 'scheduler', 'consumer_tag': '1'})
    listener(rpc_listener.Message(raw))
    return raw


def lists(number):
    return f'[{",".join(["[]"] * number)}]'


class TestStructure:
    """Few bytes that become many objects are not read."""

    @pytest.mark.parametrize('name', ['args', '_context_x', 'anything'])
    def test_a_message_of_too_many_parts_is_dropped(
            self, listener, caplog, name):
        raw = arrives(listener, f'{{"{name}":{lists(2_600_000)}}}', True)
        assert listener.incoming == []
        assert raw.channel.rejected == [1]
        assert f'at most {bounds.MESSAGE_PARTS}' in caplog.text

    @pytest.mark.parametrize('content', [5, None, [], {}])
    def test_what_is_no_text_is_dropped_for_that(
            self, listener, caplog, content):
        arrives(listener, content)
        assert listener.incoming == []
        assert 'TypeError: the JSON object must be str' in caplog.text

    def test_a_reply_may_have_any_number(self):
        raw = types.SimpleNamespace(
            errors=[], content_type='application/json', is_reply=True,
            body=lists(bounds.MESSAGE_PARTS).join(('{"result":', '}')))
        assert not rpc_listener.Message(raw).unread

    def test_consumers_of_replies_say_that_they_are(self, monkeypatch):
        seen = []
        monkeypatch.setattr(
            rpc_listener.Consumer.__base__, '_callback',
            lambda self, message: seen.append(message.is_reply))
        consumer = object.__new__(rpc_listener.Consumer)
        for consumer.callback in (print, rpc_listener.Listener(Driver(),
                                                               None)):
            consumer._callback(types.SimpleNamespace(body='{}'))
        assert seen == [True, False]

    @pytest.mark.parametrize('value', [
        lists(10_001), json.dumps([['']] * 5_001),
        json.dumps({f'{number}': '' for number in range(10_001)})])
    def test_a_context_of_too_many_parts_is_refused(self, listener, value):
        """Each log line of its request would go through all of it."""
        arrives(listener, f'{{"method":"a","_msg_id":"i","_reply_q":"q",'
                          f'"_context_roles":{value}}}')
        [request] = listener.incoming
        assert request.ctxt == {'client_timeout': None}
        assert 'context' in request.message.refused
        assert (request.msg_id, request.reply_q) == ('i', 'q')

    def test_a_context_of_many_parts_is_heard(self, listener):
        arrives(listener, f'{{"method":"a","_context_roles":{lists(9000)}}}')
        [request] = listener.incoming
        assert len(request.ctxt['roles']) == 9000
        assert request.message.refused is None


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


class Rabbit:
    """A connection of the driver; timeouts: as they were set."""

    def __init__(self, connected):
        self.connection, self.connected = self, connected
        self.opened, self.timeouts, self._consumers = 0, [], {}

    def channel(self):
        self.opened += 1
        raise ConnectionResetError

    def set_transport_socket_timeout(self, timeout=None):
        self.timeouts.append(timeout)


class TestBindings:
    def test_are_not_looked_at_where_there_is_no_connection(self, listener):
        """A channel would open one on which nobody consumes."""
        rabbit = Rabbit(connected=False)
        listener.conn = types.SimpleNamespace(connection=rabbit)
        listener._look_at_bindings()
        assert rabbit.opened == 0
        assert rabbit.timeouts == []

    def test_leave_the_connections_patience_as_it_was(self, listener):
        rabbit = Rabbit(connected=True)
        listener.conn = types.SimpleNamespace(connection=rabbit)
        listener._look_at_bindings()
        assert rabbit.opened == 1
        assert rabbit.timeouts == [rpc_listener.PATIENCE, None]
