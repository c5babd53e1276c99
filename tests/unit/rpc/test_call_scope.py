"""Functions that run after the reply to a call, or if it is lost."""

import sys

from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched import remote
from nova_sched.rpc import call_scope
from nova_sched.rpc import driver
from nova_sched.rpc import server
from nova_sched.rpc.listener import Request


class Listener:
    """A listener that collects replies.

    gone: whether their queue was abandoned before.
    raises: the error of sending a reply.
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
    """A request; wanted: whether it wants a reply."""
    return server._TrackedMessage(Request(
        listener, {}, {}, None, 'id' if wanted else None, 'queue', None,
        listener.queues, None))


@pytest.fixture
def in_a_call():
    with call_scope.entered():
        yield


@pytest.fixture
def undone(in_a_call):
    """The undone parts of this thread's call: a list."""
    undone = []
    for name in ('one', 'two'):
        call_scope.if_reply_is_lost(lambda name=name: undone.append(name))
    return undone


def test_outside_a_server_work_runs_at_once_and_nothing_is_undone():
    done = []
    call_scope.after_reply(lambda: done.append('at once'))
    call_scope.if_reply_is_lost(pytest.fail)
    call_scope.reply_is_lost()
    assert done == ['at once']


def test_scope_ends_with_its_call():
    done = []
    with call_scope.entered():
        call_scope.after_reply(lambda: done.append('after the reply'))
        call_scope.if_reply_is_lost(pytest.fail)
    with call_scope.entered():
        call_scope.run_after_reply()
        call_scope.reply_is_lost()
    assert done == ['after the reply']


class TestUndo:
    def test_does_not_run_for_a_sent_reply(self, undone):
        listener = Listener()

        a_message(listener).reply('hosts')

        [reply] = listener.replied
        assert '"result": "hosts"' in reply.body['oslo.message']
        assert undone == []

    @pytest.mark.parametrize(('gone', 'wanted'), [(True, True),
                                                  (False, False)],
                             ids=['gone', 'unwanted'])
    def test_runs_for_a_reply_without_a_caller(self, undone, gone, wanted):
        # Made here: the library forgets abandoned queues after a minute.
        listener = Listener(gone)

        a_message(listener, wanted).reply('hosts')

        assert listener.replied == []
        assert undone == ['one', 'two']

    def test_runs_for_a_reply_that_cannot_be_sent(self, undone):
        with pytest.raises(ConnectionError):
            a_message(Listener(raises=ConnectionError())).reply('hosts')

        assert undone == ['one', 'two']

    def test_continues_after_an_error(self, in_a_call, caplog):
        undone = []
        call_scope.if_reply_is_lost(lambda: 1 / 0)
        call_scope.if_reply_is_lost(lambda: undone.append('two'))

        call_scope.reply_is_lost()

        assert undone == ['two']
        assert 'Cannot undo a call whose reply was lost' in caplog.text


def test_other_attributes_of_a_message_are_unchanged():
    assert a_message(Listener()).reply_q == 'queue'


class TestWorkAfterTheReply:
    def test_runs_once_and_in_order(self, in_a_call):
        done = []
        for name in ('one', 'two'):
            call_scope.after_reply(lambda name=name: done.append(name))
        assert done == []
        call_scope.run_after_reply()
        call_scope.run_after_reply()
        assert done == ['one', 'two']

    def test_runs_while_the_broker_confirms_the_reply(self, in_a_call):
        done = []
        call_scope.after_reply(lambda: done.append('work'))
        assert driver._wait(lambda: done.append('waited') or 'ack') == 'ack'
        assert done == ['work', 'waited']

    def test_does_not_wait_for_a_lost_broker(self, in_a_call, monkeypatch):
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

    def test_waits_for_a_reachable_broker(self, in_a_call):
        done = []
        call_scope.after_reply(lambda: done.append(True))
        a_message(Listener()).reply('hosts')
        assert done == []

    def test_continues_after_an_error(self, in_a_call, caplog):
        done = []
        call_scope.after_reply(lambda: [][0])
        call_scope.after_reply(sys.exit)
        call_scope.after_reply(lambda: done.append(True))
        call_scope.run_after_reply()
        assert done == [True]
        assert 'Work after the reply to a call failed' in caplog.text
