"""Dispatching of messages to endpoints, errors and keepalives."""

import contextlib
import threading
import types

import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher
import pytest

from nova_sched import context
from nova_sched import rpc
from nova_sched.rpc import server as rpc_server
from tests.builders import messages
from tests.builders import rules

#: Errors of plug-ins that cannot be JSON.
UNSENDABLE = {
    'an object': LookupError('no such host', object()),
    'octets': UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'invalid start')}
UNDONE = []


class Endpoint:
    target = messaging.Target(version='1.0')

    def tell(self, ctxt, arg):
        return arg

    def count(self, ctxt, arg):
        return len(arg)

    def fail(self, ctxt, arg):
        raise UNSENDABLE[arg]

    def exit(self, ctxt):
        raise SystemExit('a plug-in wants to')

    def lose(self, ctxt):
        rpc.call_scope.if_reply_is_lost(lambda: UNDONE.append(True))
        return object()


@contextlib.contextmanager
def caller(**options):
    """A client of a server with one Endpoint, on a bus of their own."""
    conf = rules.a_conf(DEFAULT__control_exchange='dispatching', **options)
    with (messages.transport(conf, 'kombu+memory://') as made,
          messages.serving(made, conf, Endpoint())):
        yield messages.raw_client(made, '1.0').prepare(timeout=20)


def assert_no_watchdog():
    """No thread sends keepalives."""
    for thread in threading.enumerate():
        if '_watchdog' in thread.name:
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.parametrize(('version', 'method', 'refusal'), [
    ('1.0', 'no_such_method', 'NoSuchMethod'),
    ('9.0', 'tell', 'UnsupportedVersion')])
def test_refused_call_gets_no_keepalives(version, method, refusal):
    with caller() as client:
        with pytest.raises(messaging.RemoteError) as refused:
            client.prepare(version=version, call_monitor_timeout=600).call(
                context.RequestContext(), method, arg=1)
        assert refused.value.exc_type == refusal
        assert_no_watchdog()


def test_exit_of_a_plug_in_is_an_error_of_the_call(caplog):
    with caller() as client:
        with pytest.raises(RuntimeError, match='a plug-in wants to'):
            client.call(context.RequestContext(), 'exit')
        assert client.call(context.RequestContext(), 'tell', arg=1) == 1
    assert 'Exception during message handling' in caplog.text


@pytest.mark.parametrize(('method', 'arguments', 'traceback'), [
    ('tell', {'bogus': 1}, False), ('tell', {}, False),
    ('count', {'arg': 1}, True)])
def test_wrong_arguments_are_logged_without_a_traceback(
        method, arguments, traceback, caplog):
    """A TypeError within a method is logged with its traceback."""
    with caller() as client, pytest.raises(TypeError):
        client.call(context.RequestContext(), method, **arguments)
    [line] = [record for record in caplog.records
              if record.name.endswith('.rpc.server')]
    assert bool(line.exc_info) is traceback


def test_keepalives_end_with_the_answer():
    with caller() as client:
        assert client.prepare(call_monitor_timeout=600).call(
            context.RequestContext(), 'tell', arg=1) == 1
        assert_no_watchdog()


def test_error_that_cannot_be_json_is_sent_as_text():
    with caller() as client:
        for name, words in (('an object', r'LookupError: \(.no such host.'),
                            ('octets', 'UnicodeDecodeError: .*invalid start')):
            with pytest.raises(RuntimeError, match=words):
                client.call(context.RequestContext(), 'fail', arg=name)


def test_result_that_cannot_be_json_is_an_error_and_undone():
    UNDONE.clear()
    with (caller() as client,
          pytest.raises(RuntimeError, match='Cannot convert')):
        client.call(context.RequestContext(), 'lose')
    assert UNDONE == [True]


def test_ping_of_oslo_messaging_is_answered_if_enabled():
    with caller(DEFAULT__rpc_ping_enabled=True) as client:
        assert client.call(context.RequestContext(),
                           'oslo_rpc_server_ping') == 'pong'
    with (caller() as client,
          pytest.raises(messaging.RemoteError, match='NoSuchMethod')):
        client.call(context.RequestContext(), 'oslo_rpc_server_ping')


class TestMalformedMessage:
    """The sender gets the error, the log a line."""

    @pytest.fixture
    def dispatch(self, caplog):
        """Function of a message: the endpoint's result, or the log line."""
        made = rpc_server.Dispatcher(
            [Endpoint()], rpc.ContextSerializer(), rpc_server.OnlyCalls)

        def dispatch(message):
            try:
                return made.dispatch(types.SimpleNamespace(
                    message=message, ctxt={}, client_timeout=None))
            except dispatcher.ExpectedException as error:
                [line] = caplog.messages
                assert str(error.exc_info[1]) in line
                return line
        return dispatch

    @pytest.mark.parametrize('version', [
        {}, {'version': '1.0'}, {'version': '1.0.0'}])
    def test_valid_message_is_dispatched(self, dispatch, version):
        assert dispatch({'method': 'tell', 'args': {'arg': 5}, **version}) == 5

    @pytest.mark.parametrize(('odd', 'words'), [
        ({'method': None}, 'method = None: must be a text'),
        ({'method': 5}, 'method = 5: must be a text'),
        ({'version': 1.0}, 'version = 1.0: must be a text such as 4.5'),
        ({'version': None}, 'version = None: must be a text such as 4.5'),
        *[({'version': odd}, f'version = {odd!r}: must be a text such as 4.5')
          for odd in ('', '1', '1.', '.0', '1.0.', '1.0.0.0', 'x1.0', '1.0x',
                      '1.0\n', '-1.0', '\u0661.0', '1234567890.0',
                      '1.1234567890', '1.0.1234567890')],
        ({'args': []}, 'args = []: must be an object'),
        ({'args': None}, 'args = None: must be an object')])
    def test_is_refused(self, dispatch, odd, words):
        line = dispatch({'method': 'tell', 'args': {'arg': 5}, **odd})
        assert line == ('A message is refused: Invalid input received: '
                        + words)

    def test_is_quoted_in_80_characters(self, dispatch):
        assert dispatch({'method': ['x' * 1000]}).endswith(
            f"method = ['{'x' * 78}: must be a text")

    def test_may_be_refused_before_its_dispatch(self, dispatch):
        class Refused(dict):
            refused = 'context: too large'
        assert dispatch(Refused()).endswith(
            'Invalid input received: context: too large')

    @pytest.mark.parametrize('version', ['999999999.0', '1.999999999',
                                         '2.0.999999999'])
    def test_version_may_have_nine_digits_each(self, dispatch, version):
        assert 'Endpoint does not support' in dispatch(
            {'method': 'tell', 'args': {'arg': 5}, 'version': version})

    @pytest.mark.parametrize(('calls', 'name', 'found'), [
        ({'tell'}, 'tell', 5), ({'tell'}, 'count', None),
        ({'_private'}, '_private', None)])
    def test_only_permitted_methods_are_called(
            self, dispatch, monkeypatch, calls, name, found):
        monkeypatch.setattr(Endpoint, 'CALLS', calls, raising=False)
        monkeypatch.setattr(Endpoint, '_private', Endpoint.tell, raising=False)
        result = dispatch({'method': name, 'args': {'arg': 5}})
        assert result == found or 'does not support RPC method' in result
