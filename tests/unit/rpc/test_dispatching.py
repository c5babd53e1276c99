"""From messages to endpoints: who is asked, and what ends with the answer."""

import contextlib
import threading
import types

import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher
import pytest

from nova_sched import context
from nova_sched import rpc
from nova_sched.rpc import call_scope
from nova_sched.rpc import server as rpc_server
from tests.builders import messages
from tests.builders import rules

#: Errors of plug-ins that no JSON can be made of.
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
        call_scope.if_reply_is_lost(lambda: UNDONE.append(True))
        return object()


@contextlib.contextmanager
def caller(**options):
    """A client of a server with one Endpoint, on a bus of their own."""
    conf = rules.a_conf(DEFAULT__control_exchange='dispatching', **options)
    with (messages.transport(conf, 'kombu+memory://') as made,
          messages.serving(made, conf, Endpoint())):
        yield messages.raw_client(made, '1.0').prepare(timeout=20)


def assert_no_watchdog():
    """No thread goes on to tell a caller that its call is worked on."""
    for thread in threading.enumerate():
        if '_watchdog' in thread.name:
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.parametrize(('version', 'method', 'refusal'), [
    ('1.0', 'no_such_method', 'NoSuchMethod'),
    ('9.0', 'tell', 'UnsupportedVersion')])
def test_a_call_that_nobody_takes_is_not_kept_alive(version, method, refusal):
    """Its caller has been told so, and waits no more."""
    with caller() as client:
        with pytest.raises(messaging.RemoteError) as refused:
            client.prepare(version=version, call_monitor_timeout=600).call(
                context.RequestContext(), method, arg=1)
        assert refused.value.exc_type == refusal
        assert_no_watchdog()


def test_an_exit_is_told_to_the_caller_and_ends_nothing(caplog):
    with caller() as client:
        with pytest.raises(RuntimeError, match='a plug-in wants to'):
            client.call(context.RequestContext(), 'exit')
        assert client.call(context.RequestContext(), 'tell', arg=1) == 1
    assert 'Exception during message handling' in caplog.text


@pytest.mark.parametrize(('method', 'arguments', 'traceback'), [
    ('tell', {'bogus': 1}, False), ('tell', {}, False),
    ('count', {'arg': 1}, True)])
def test_wrong_arguments_are_no_error_of_the_service(
        method, arguments, traceback, caplog):
    """Their caller is told what Python says, and the log has a line; where
    a method itself goes wrong it has the traceback.
    """
    with caller() as client, pytest.raises(TypeError):
        client.call(context.RequestContext(), method, **arguments)
    [line] = [record for record in caplog.records
              if record.name.endswith('.rpc.server')]
    assert bool(line.exc_info) is traceback


def test_calls_that_nobody_takes_leave_no_threads():
    """However many; a newer conductor makes one with every boot."""
    with caller() as client:
        client = client.prepare(version='9.0', call_monitor_timeout=600)

        def refused(times):
            for _ in range(times):
                with pytest.raises(messaging.RemoteError):
                    client.call(context.RequestContext(), 'tell', arg=1)
            assert_no_watchdog()
            return threading.active_count()

        # Threads to work stay, and a few may be made later.
        before = refused(70)
        assert refused(30) < before + 15


def test_a_call_that_is_answered_is_not_kept_alive_any_more():
    with caller() as client:
        assert client.prepare(call_monitor_timeout=600).call(
            context.RequestContext(), 'tell', arg=1) == 1
        assert_no_watchdog()


def test_an_error_that_cannot_be_sent_is_told_in_words():
    """Its caller would wait for its whole time-out otherwise."""
    with caller() as client:
        for name, words in (('an object', r'LookupError: \(.no such host.'),
                            ('octets', 'UnicodeDecodeError: .*invalid start')):
            with pytest.raises(RuntimeError, match=words):
                client.call(context.RequestContext(), 'fail', arg=name)


def test_a_result_that_cannot_be_sent_is_an_error_and_is_undone():
    UNDONE.clear()
    with (caller() as client,
          pytest.raises(RuntimeError, match='Cannot convert')):
        client.call(context.RequestContext(), 'lose')
    assert UNDONE == [True]


def test_the_ping_of_oslo_messaging_is_answered_where_it_is_switched_on():
    """By an option of this service's own configuration."""
    with caller(DEFAULT__rpc_ping_enabled=True) as client:
        assert client.call(context.RequestContext(),
                           'oslo_rpc_server_ping') == 'pong'
    with (caller() as client,
          pytest.raises(messaging.RemoteError, match='NoSuchMethod')):
        client.call(context.RequestContext(), 'oslo_rpc_server_ping')


class TestMessagesThatNoClientMakes:
    """Their sender is told what is wrong with them, the log in a line."""

    @pytest.fixture
    def dispatch(self, caplog):
        """Function of a message: what its endpoint returns, or the line."""
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
    def test_others_are_taken(self, dispatch, version):
        assert dispatch({'method': 'tell', 'args': {'arg': 5},
                         **version}) == 5

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
    def test_are_refused(self, dispatch, odd, words):
        line = dispatch({'method': 'tell', 'args': {'arg': 5}, **odd})
        assert line == ('A message is refused: Invalid input received: '
                        + words)

    def test_are_quoted_in_80_characters(self, dispatch):
        assert dispatch({'method': ['x' * 1000]}).endswith(
            f"method = ['{'x' * 78}: must be a text")

    def test_may_have_been_refused_as_they_came(self, dispatch):
        class Refused(dict):
            refused = 'context: too large'
        assert dispatch(Refused()).endswith(
            'Invalid input received: context: too large')

    @pytest.mark.parametrize('version', ['999999999.0', '1.999999999',
                                         '2.0.999999999'])
    def test_may_have_a_version_of_nine_figures_each(self, dispatch, version):
        assert 'Endpoint does not support' in dispatch(
            {'method': 'tell', 'args': {'arg': 5}, 'version': version})

    @pytest.mark.parametrize(('calls', 'name', 'found'), [
        ({'tell'}, 'tell', 5), ({'tell'}, 'count', None),
        ({'_private'}, '_private', None)])
    def test_reach_what_an_endpoint_lets_be_called(
            self, dispatch, monkeypatch, calls, name, found):
        monkeypatch.setattr(Endpoint, 'CALLS', calls, raising=False)
        monkeypatch.setattr(Endpoint, '_private', Endpoint.tell,
                            raising=False)
        told = dispatch({'method': name, 'args': {'arg': 5}})
        assert told == found or 'does not support RPC method' in told
