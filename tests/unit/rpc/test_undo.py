"""What a call has done is undone when its reply is not delivered."""

import threading

from oslo_messaging._drivers import amqpdriver
import pytest

from nova_sched import contact
from nova_sched.rpc import server
from nova_sched.rpc import undo
from nova_sched.rpc.listener import Request


class Listener:
    """Whose replies go nowhere.

    gone: whether the queue for them was given up before.
    raises: what sending a reply ends in.
    """

    def __init__(self, gone=False, raises=None):
        self.replied, self._raises, self.retrier = [], raises, self
        self.contact = contact.Contact()
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
def undone():
    """What is undone of the call that this thread works on: a list."""
    undo.begin()
    undone = []
    for name in ('one', 'two'):
        undo.if_reply_is_lost(lambda name=name: undone.append(name))
    return undone


def test_nothing_is_undone_for_a_reply_that_is_sent(undone):
    listener = Listener()

    a_message(listener).reply('hosts')

    [reply] = listener.replied
    assert '"result": "hosts"' in reply.body['oslo.message']
    assert undone == []


@pytest.mark.parametrize(('gone', 'wanted'), [(True, True), (False, False)],
                         ids=['gone', 'unwanted'])
def test_all_is_undone_for_one_that_nobody_gets(undone, gone, wanted):
    # Made here: what is known to be gone is forgotten after a minute.
    listener = Listener(gone)

    a_message(listener, wanted).reply('hosts')

    assert listener.replied == []
    assert undone == ['one', 'two']


def test_all_is_undone_for_one_that_cannot_be_sent(undone):
    with pytest.raises(ConnectionError):
        a_message(Listener(raises=ConnectionError())).reply('hosts')

    assert undone == ['one', 'two']


def test_what_cannot_be_undone_does_not_keep_the_rest(caplog):
    undo.begin()
    undone = []
    undo.if_reply_is_lost(lambda: 1 / 0)
    undo.if_reply_is_lost(lambda: undone.append('two'))

    undo.reply_is_lost()

    assert undone == ['two']
    assert 'could not be undone' in caplog.text


def test_the_next_call_of_the_thread_has_nothing_to_be_undone(undone):
    undo.begin()

    undo.reply_is_lost()

    assert undone == []


def test_a_caller_in_this_process_has_nothing_to_be_undone():
    """It gets its answer, whatever it does with it."""
    undone = []

    def call():
        undo.if_reply_is_lost(lambda: undone.append('one'))
        undo.reply_is_lost()
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()

    assert undone == []


def test_the_rest_of_a_message_is_as_it_is():
    assert a_message(Listener()).reply_q == 'queue'
