"""Validation of messages from the bus."""

import json

import pytest

from nova_sched.objects import bounds
from tests.builders.listeners import a_consumer
from tests.builders.listeners import a_listener
from tests.builders.listeners import arrives
from tests.builders.listeners import delivered


@pytest.fixture
def listener():
    return a_listener()


def received(listener, *args):
    """The only request after a message arrives."""
    arrives(listener, *args)
    [request] = listener.incoming
    return request


def lists(number):
    return f'[{",".join(["[]"] * number)}]'


class TestStructure:
    """Few bytes may become many objects."""

    @pytest.mark.parametrize('name', ['args', '_context_x', 'anything'])
    def test_message_with_too_many_parts_is_dropped(
            self, listener, caplog, name):
        channel = arrives(listener, f'{{"{name}":{lists(2_600_000)}}}', True)
        assert listener.incoming == []
        assert channel.rejected == [1]
        assert f'the limit is {bounds.MESSAGE_PARTS}' in caplog.text

    @pytest.mark.parametrize('content', [5, None, [], {}])
    def test_content_without_text_is_dropped(self, listener, caplog, content):
        arrives(listener, content)
        assert listener.incoming == []
        assert 'TypeError: the JSON object must be str' in caplog.text

    @pytest.mark.parametrize('value', [
        lists(10_001), json.dumps([['']] * 5_001),
        json.dumps({f'{number}': '' for number in range(10_001)})])
    def test_context_with_too_many_parts_is_refused(self, listener, value):
        """Each log line would process all of it."""
        request = received(
            listener, '{"method":"a","_msg_id":"i","_reply_q":"q",'
                      f'"_context_roles":{value}}}')
        assert request.ctxt == {'client_timeout': None}
        assert 'context' in request.message.refused
        assert (request.msg_id, request.reply_q) == ('i', 'q')

    @pytest.mark.parametrize(('number', 'is_read'), [
        (9000, True), (9998, True), (9999, False)])
    def test_context_of_many_parts_is_read(self, listener, number, is_read):
        """The limit is 10 000 with the context itself and its roles."""
        request = received(
            listener, f'{{"method":"a","_context_roles":{lists(number)}}}')
        assert (request.message.refused is None) is is_read
        assert len(request.ctxt.get('roles', ())) == (is_read and number)


class TestSize:
    """Large messages are not decoded."""

    @pytest.fixture
    def consumer(self, listener, monkeypatch):
        """A consumer whose messages may have 60 bytes."""
        monkeypatch.setattr(bounds, 'MESSAGE_BYTES', 60)
        return a_consumer(listener)

    @pytest.mark.parametrize('size', [60, 61])
    def test_message_above_the_limit_is_dropped(
            self, listener, consumer, caplog, size):
        consumer._callback(delivered('{"method": "a"}'.ljust(size)))
        assert [request.message for request in listener.incoming] == [
            {'method': 'a'}] * (size == 60)
        assert consumer.queue.channel.rejected == [1] * (size == 61)
        assert caplog.messages == [
            'A message to scheduler is dropped: 61 bytes; the limit is 60'
        ] * (size == 61)

    def test_line_about_unreadable_message_is_short(self, listener, caplog):
        a_consumer(listener)._callback(delivered('x', content_type='y' * 999))
        a_consumer(listener)._callback(delivered(
            '{}', {'compression': 'x' * 1000}))
        assert listener.incoming == []
        for line, words in zip(caplog.messages, ('Unreadable', 'KeyError'),
                               strict=True):
            reason = line.removeprefix('A message to scheduler is dropped: ')
            assert reason.startswith(words)
            assert len(reason) <= 400
        assert len(reason) == 400


class TestAddress:
    """A call has a reply address, or is dropped with a line."""

    @pytest.mark.parametrize('address', [
        {}, {'_msg_id': ''}, {'_msg_id': None}, {'_msg_id': 0},
        {'_reply_q': 5},
        {'_msg_id': 'i', '_reply_q': 'q'},
        {'_msg_id': 'i' * 255, '_reply_q': '\u00e9' * 127}])
    def test_may_be_missing_or_valid(self, listener, address, caplog):
        channel = arrives(listener, json.dumps({'method': 'a', **address}))
        [request] = listener.incoming
        assert request.message == {'method': 'a'}
        assert channel.rejected == []
        assert caplog.messages == []

    @pytest.mark.parametrize('address', [
        {'_msg_id': 'i'}, {'_msg_id': 'i', '_reply_q': ''},
        {'_msg_id': 'i', '_reply_q': 5}, {'_msg_id': 5, '_reply_q': 'q'},
        {'_msg_id': 'i' * 256, '_reply_q': 'q'},
        {'_msg_id': 'i', '_reply_q': '\u00e9' * 128},
        {'_msg_id': 'i', '_reply_q': '\ud800'}])
    def test_invalid_address_is_logged(self, listener, address, caplog):
        channel = arrives(listener, json.dumps({'method': 'a', **address}))
        assert listener.incoming == []
        assert channel.rejected == [1]
        [line] = caplog.messages
        assert line.startswith('A call to scheduler is dropped: its reply '
                               'address is invalid: _reply_q = ')
        assert len(line) < 280


class TestOddNames:
    def test_key_of_a_library_argument_is_removed(self, listener):
        request = received(
            listener, '{"method":"a","_context_self":1,"_context_x":2}')
        assert request.message.refused is None
        assert request.ctxt['x'] == 2

    @pytest.mark.parametrize('value', [[1], {}, 5, '', 'x' * 256])
    def test_invalid_unique_id_is_removed(self, listener, value):
        request = received(
            listener, json.dumps({'method': 'a', '_unique_id': value}))
        assert request.unique_id is None
        assert request.message == {'method': 'a'}

    @pytest.mark.parametrize(('value', 'seconds'), [
        (1, 1), ('7', 7), (2.5, 2), (604799, 604799), (604800, None),
        (0, None), (-1, None), ('soon', None), (None, None), ([], None),
        (float('inf'), None), (float('nan'), None)])
    def test_timeout_is_less_than_a_week(self, listener, value, seconds):
        request = received(
            listener, json.dumps({'method': 'a', '_timeout': value}))
        assert request.client_timeout == seconds

    def test_message_that_fails_the_library_is_refused(self, listener):
        def check(message):
            if 'method' in message:
                raise ArithmeticError('x' * 1000)
        listener.msg_id_cache.check_duplicate_message = check
        request = received(
            listener, '{"method":"a","_msg_id":"i","_reply_q":"q",'
                      '"_context_x":5}')
        assert (request.msg_id, request.reply_q) == ('i', 'q')
        assert request.message == {}
        refused = request.message.refused
        assert refused.startswith('message: cannot be read: ArithmeticError')
        assert len(refused) < 240


class TestLarge:
    """The arguments of a large call are decoded when it is processed."""

    @pytest.mark.parametrize('packed', [False, True])
    def test_arguments_are_decoded_by_load(self, listener, packed):
        args = {'x': ['y' * 1000] * 100}
        request = received(listener, json.dumps({
            'method': 'a', 'namespace': 'baseapi', 'args': args}), packed)
        assert request.message == {'method': 'a', 'namespace': 'baseapi'}
        assert request.weight == 2

        request.take()
        request.load()
        assert request.message['args'] == args
        assert request.message._raw is None

    def test_arguments_of_a_small_call_are_decoded_at_once(self, listener):
        request = received(listener, '{"method": "a", "args": {"x": 1}}')
        assert request.message['args'] == {'x': 1}
        assert request.weight == 1
        request.load()
        assert request.message['args'] == {'x': 1}

    def test_refused_call_has_no_arguments(self, listener):
        request = received(listener, json.dumps({
            'args': 'x' * 200_000, '_msg_id': 'i', '_reply_q': 'q',
            '_context_roles': [['']] * 5_001}))
        request.load()
        assert 'context' in request.message.refused
        assert 'args' not in request.message
