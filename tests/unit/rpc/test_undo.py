"""What a call has done is undone when its answer is not delivered."""

import pytest

from nova_sched.rpc import server
from nova_sched.rpc import undo


class Message(server.amqpdriver.AMQPIncomingMessage):
    """A message of oslo.messaging that goes nowhere.

    wanted: whether a reply is.  gone: whether its queue is.
    raises: what sending a reply ends in.
    """

    def __init__(self, wanted=True, gone=False, raises=None):
        queues = server.amqpdriver.ObsoleteReplyQueuesCache()
        super().__init__(None, None, {}, None, 'id' if wanted else None,
                         'queue', None, queues, None)
        self._raises, self.replied = raises, []
        if gone:
            queues.add('queue', 'id')

    def reply(self, reply=None, failure=None):
        if self._raises:
            raise self._raises
        self.replied.append(reply)


@pytest.fixture
def undone():
    """What is undone of the call that this thread works on: a list."""
    undo.begin()
    undone = []
    for name in ('one', 'two'):
        undo.undo_if_lost(lambda name=name: undone.append(name))
    return undone


def test_nothing_is_undone_of_an_answer_that_is_delivered(undone):
    message = Message()

    server._Answered(message).reply('hosts')

    assert message.replied == ['hosts']
    assert undone == []


@pytest.mark.parametrize('message', [{'gone': True}, {'wanted': False}],
                         ids=['gone', 'unwanted'])
def test_all_is_undone_of_one_that_nobody_gets(undone, message):
    # Made here: what is known to be gone is forgotten after a minute.
    server._Answered(Message(**message)).reply('hosts')

    assert undone == ['one', 'two']


def test_all_is_undone_of_one_that_cannot_be_sent(undone):
    with pytest.raises(ConnectionError):
        server._Answered(Message(raises=ConnectionError())).reply('hosts')

    assert undone == ['one', 'two']


def test_what_cannot_be_undone_does_not_keep_the_rest(caplog):
    undo.begin()
    undone = []
    undo.undo_if_lost(lambda: 1 / 0)
    undo.undo_if_lost(lambda: undone.append('two'))

    undo.lost()

    assert undone == ['two']
    assert 'could not be undone' in caplog.text


def test_the_next_call_of_the_thread_has_nothing_to_be_undone(undone):
    undo.begin()

    undo.lost()

    assert undone == []


def test_a_caller_in_this_process_has_nothing_to_be_undone():
    """It gets its answer, whatever it does with it."""
    undone = []
    if hasattr(undo._call, 'undo'):
        del undo._call.undo

    undo.undo_if_lost(lambda: undone.append('one'))

    assert undone == []


def test_the_rest_of_a_message_is_as_it_is():
    assert server._Answered(Message()).reply_q == 'queue'
