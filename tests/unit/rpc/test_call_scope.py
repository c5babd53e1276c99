"""What a call leaves to do: after its reply, or if that is not delivered."""

import contextlib
import sys
import threading

import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched import context
from nova_sched import remote
from nova_sched.rpc import call_scope
from nova_sched.rpc import driver
from nova_sched.rpc import server
from nova_sched.rpc.listener import Request
from tests.builders import messages
from tests.builders import rules


class Listener:
    """Whose replies go nowhere.

    gone: whether the queue for them was given up before.
    raises: what sending a reply ends in.
    """

    def __init__(self, gone=False, raises=None):
        self.replied, self._raises, self.retrier = [], raises, self
        self.contact = remote.Contact()
        self.queues = amqpdriver.ObsoleteReplyQueuesCache()
        if gone:
            self.queues.add('queue', 'id')

    def send(self, reply):
        if self._raises:
            raise self._raises
        self.replied.append(reply)


def a_message(listener, wanted=True):
    """A request that a server works on; wanted: whether a reply is."""
    return server._TrackedMessage(Request(
        listener, {}, {}, None, 'id' if wanted else None, 'queue', None,
        listener.queues, None))


@pytest.fixture
def in_a_call():
    with call_scope.entered():
        yield


@pytest.fixture
def undone(in_a_call):
    """What is undone of the call that this thread works on: a list."""
    undone = []
    for name in ('one', 'two'):
        call_scope.if_reply_is_lost(lambda name=name: undone.append(name))
    return undone


def test_outside_of_a_server_work_runs_at_once_and_none_is_undone():
    done = []
    call_scope.after_reply(lambda: done.append('at once'))
    call_scope.if_reply_is_lost(pytest.fail)
    call_scope.reply_is_lost()
    assert done == ['at once']


def test_nothing_of_a_call_is_left_for_the_next_one_of_its_thread():
    done = []
    with call_scope.entered():
        call_scope.after_reply(lambda: done.append('after the reply'))
        call_scope.if_reply_is_lost(pytest.fail)
    with call_scope.entered():
        call_scope.run_after_reply()
        call_scope.reply_is_lost()
    assert done == ['after the reply']


class TestIfTheReplyIsLost:
    def test_nothing_is_undone_for_a_reply_that_is_sent(self, undone):
        listener = Listener()

        a_message(listener).reply('hosts')

        [reply] = listener.replied
        assert '"result": "hosts"' in reply.body['oslo.message']
        assert undone == []

    @pytest.mark.parametrize(('gone', 'wanted'), [(True, True),
                                                  (False, False)],
                             ids=['gone', 'unwanted'])
    def test_all_is_undone_for_one_that_nobody_gets(
            self, undone, gone, wanted):
        # Made here: what is known to be gone is forgotten after a minute.
        listener = Listener(gone)

        a_message(listener, wanted).reply('hosts')

        assert listener.replied == []
        assert undone == ['one', 'two']

    def test_all_is_undone_for_one_that_cannot_be_sent(self, undone):
        with pytest.raises(ConnectionError):
            a_message(Listener(raises=ConnectionError())).reply('hosts')

        assert undone == ['one', 'two']

    def test_what_cannot_be_undone_does_not_keep_the_rest(
            self, in_a_call, caplog):
        undone = []
        call_scope.if_reply_is_lost(lambda: 1 / 0)
        call_scope.if_reply_is_lost(lambda: undone.append('two'))

        call_scope.reply_is_lost()

        assert undone == ['two']
        assert 'could not be undone' in caplog.text


def test_the_rest_of_a_message_is_as_it_is():
    assert a_message(Listener()).reply_q == 'queue'


class TestAfterTheReply:
    def test_work_waits_and_runs_once_and_in_order(self, in_a_call):
        done = []
        for name in ('one', 'two'):
            call_scope.after_reply(lambda name=name: done.append(name))
        assert done == []
        call_scope.run_after_reply()
        call_scope.run_after_reply()
        assert done == ['one', 'two']

    def test_work_runs_while_the_broker_confirms_the_reply(self, in_a_call):
        """It is sent by then: what waits is the thread of the call alone."""
        done = []
        call_scope.after_reply(lambda: done.append('left'))
        assert driver._wait(lambda: done.append('waited') or 'ack') == 'ack'
        assert done == ['left', 'waited']

    def test_work_does_not_wait_for_a_broker_that_is_away(
            self, in_a_call, monkeypatch):
        """Neither for one that fails, nor for one found away before."""
        done, listener = [], Listener()
        monkeypatch.setattr(
            impl_rabbit.Connection, 'ensure',
            lambda self, method, retry, failed: failed(OSError('away')))
        connection = object.__new__(driver.Connection)
        connection.contact = remote.Contact()
        call_scope.after_reply(lambda: done.append('when it fails'))
        connection.ensure(None)
        call_scope.after_reply(lambda: done.append('while it is away'))
        listener.contact = connection.contact
        a_message(listener).reply('hosts')
        assert done == ['when it fails', 'while it is away']

    def test_work_waits_for_a_broker_that_is_there(self, in_a_call):
        done = []
        call_scope.after_reply(lambda: done.append(True))
        a_message(Listener()).reply('hosts')
        assert done == []

    def test_work_that_fails_does_not_keep_the_rest(self, in_a_call, caplog):
        done = []
        call_scope.after_reply(lambda: [][0])
        call_scope.after_reply(sys.exit)
        call_scope.after_reply(lambda: done.append(True))
        call_scope.run_after_reply()
        assert done == [True]
        assert 'Work after the reply to a call failed' in caplog.text

    @pytest.mark.parametrize('is_cast', [True, False], ids=['cast', 'call'])
    @pytest.mark.parametrize('fails', [True, False])
    def test_work_runs_in_the_thread_of_the_call_whatever_it_comes_to(
            self, is_cast, fails):
        conf = rules.a_conf(DEFAULT__control_exchange='after')
        endpoint = Endpoint()
        with (messages.transport(conf, 'kombu+memory://') as made,
              messages.serving(made, conf, endpoint)):
            client = messages.raw_client(made, '1.0').prepare(
                **{} if is_cast else {'timeout': 20})
            with contextlib.suppress(LookupError):
                getattr(client, 'cast' if is_cast else 'call')(
                    context.RequestContext(), 'work', fails=fails)
            assert endpoint.done.wait(20)
        assert len(endpoint.threads) == 1


class Endpoint:
    """Whose calls and casts leave something to be done."""

    target = messaging.Target(version='1.0')

    def __init__(self):
        self.done, self.threads = threading.Event(), set()

    def work(self, ctxt, fails):
        self.threads.add(threading.current_thread())
        call_scope.after_reply(self._finish)
        if fails:
            raise LookupError('no such host')

    def _finish(self):
        self.threads.add(threading.current_thread())
        self.done.set()
