"""What is left of a call is done when its reply is on the way."""

import contextlib
import sys
import threading

import oslo_messaging as messaging
from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched import contact
from nova_sched import context
from nova_sched.rpc import afterwards
from nova_sched.rpc import driver
from nova_sched.rpc import server as rpc_server
from tests.builders import messages
from tests.builders import rules
from tests.unit.rpc.test_undo import Listener
from tests.unit.rpc.test_undo import a_message


@pytest.fixture
def in_a_call():
    """A context in which this thread works on a call."""
    @contextlib.contextmanager
    def call():
        afterwards.begin()
        try:
            yield
        finally:
            del afterwards._call.functions
    return call


def test_is_done_at_once_outside_of_a_server():
    done = []
    afterwards.do(lambda: done.append(True))
    assert done == [True]


def test_waits_for_the_reply_and_is_done_once_and_in_order(in_a_call):
    done = []
    with in_a_call():
        for name in ('one', 'two'):
            afterwards.do(lambda name=name: done.append(name))
        assert done == []
        afterwards.run()
        afterwards.run()
    assert done == ['one', 'two']


def test_is_done_while_the_broker_confirms_the_reply(in_a_call):
    """It is sent by then: what waits is the thread of the call alone."""
    done = []
    with in_a_call():
        afterwards.do(lambda: done.append('left'))
        assert driver._wait(lambda: done.append('waited') or 'ack') == 'ack'
    assert done == ['left', 'waited']


def test_does_not_wait_for_a_broker_that_is_away(in_a_call, monkeypatch):
    """Neither for one that fails, nor for one that was found away before."""
    done, listener = [], Listener()
    monkeypatch.setattr(
        impl_rabbit.Connection, 'ensure',
        lambda self, method, retry, failed: failed(OSError('away')))
    connection = object.__new__(driver.Connection)
    connection.contact = contact.Contact()
    with in_a_call():
        afterwards.do(lambda: done.append('when it fails'))
        connection.ensure(None)
        afterwards.do(lambda: done.append('while it is away'))
        listener.contact = connection.contact
        a_message(listener).reply('hosts')
    assert done == ['when it fails', 'while it is away']


def test_waits_for_a_broker_that_is_there(in_a_call):
    with in_a_call():
        afterwards.do(pytest.fail)
        a_message(Listener()).reply('hosts')


def test_that_fails_keeps_nothing_else_from_being_done(in_a_call, caplog):
    done = []
    with in_a_call():
        afterwards.do(lambda: [][0])
        afterwards.do(sys.exit)
        afterwards.do(lambda: done.append(True))
        afterwards.run()
    assert done == [True]
    assert 'What was left of a call has failed' in caplog.text


def test_is_nothing_of_another_call(in_a_call):
    """A thread begins each one anew."""
    done = []
    with in_a_call():
        afterwards.do(lambda: done.append(True))
        rpc_server._begin()
        afterwards.run()
    assert done == []


class Endpoint:
    """Whose calls and casts leave something to be done."""

    target = messaging.Target(version='1.0')

    def __init__(self):
        self.done, self.threads = threading.Event(), set()

    def work(self, ctxt, fails):
        self.threads.add(threading.current_thread())
        afterwards.do(self._finish)
        if fails:
            raise LookupError('no such host')

    def _finish(self):
        self.threads.add(threading.current_thread())
        self.done.set()


@pytest.mark.parametrize('is_cast', [True, False], ids=['cast', 'call'])
@pytest.mark.parametrize('fails', [True, False])
def test_is_done_by_the_thread_of_the_call_whatever_it_comes_to(
        is_cast, fails):
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
