"""Queueing a notification never blocks, whatever the bus does."""

import logging
import threading

import pytest

from nova_sched.observe.notifications import Outbox
from nova_sched.rpc.notifier import NotSentError
from nova_sched.rpc.notifier import RefusedError
from tests.builders.services import wait_for

LOGGER = 'nova_sched.observe.notifications'


class Bus:
    """Takes notifications while it is open, except refused ones."""

    def __init__(self):
        self.open, self.closed = threading.Event(), threading.Event()
        self.open.set()
        self.taken, self.threads = [], set()
        self.refuses, self.refused = [], 0

    def send(self, notification):
        self.threads.add(threading.current_thread())
        assert self.open.wait(20)
        if notification in self.refuses:
            self.refused += 1
            raise NotSentError('refused')
        if notification is RefusedError:
            raise RefusedError('that queue is durable')
        if notification is ZeroDivisionError:
            raise ZeroDivisionError
        self.taken.append(notification)


@pytest.fixture
def bus():
    return Bus()


@pytest.fixture
def outbox(bus):
    """An Outbox with room for three, which tries again at once."""
    made = Outbox(bus.send, bus.closed.set, most=3, pause=0.01)
    yield made
    bus.open.set()
    made.stop(10)


@pytest.fixture
def lines(caplog):
    """Function: (level, text) of the lines logged so far."""
    caplog.set_level(logging.INFO, LOGGER)
    return lambda: [(record.levelname, record.getMessage())
                    for record in caplog.records if record.name == LOGGER]


def hang(bus, outbox):
    """Have the bus hang, with one notification in its hands."""
    bus.open.clear()
    outbox.put('in hand')
    wait_for(outbox._waiting.empty)


def test_notifications_go_out_in_order_from_one_thread(bus, outbox):
    for number in 'abc':
        outbox.put(number)
    wait_for(lambda: bus.taken == ['a', 'b', 'c'])
    [thread] = bus.threads
    assert thread.daemon
    assert thread is not threading.current_thread()


def test_a_hanging_bus_blocks_no_caller(bus, outbox, lines):
    """Notifications beyond the queue are dropped, which is logged once."""
    hang(bus, outbox)
    for number in range(1, 8):
        outbox.put(number)
    [(level, text)] = lines()
    assert level == 'WARNING'
    assert 'cannot be sent: 3 wait already. ' in text


def test_recovery_is_logged_with_the_number_of_drops(bus, outbox, lines):
    hang(bus, outbox)
    for number in range(1, 8):
        outbox.put(number)
    bus.open.set()
    wait_for(lambda: len(lines()) == 2)
    assert bus.taken == ['in hand', 1, 2, 3]
    assert lines()[1] == (
        'INFO', 'Notifications are sent again; 4 were dropped')


def test_a_refused_notification_is_repeated(bus, outbox, lines):
    """Before the next ones, and with one line in the log."""
    bus.refuses = [1]
    outbox.put(1)
    wait_for(lambda: bus.refused > 3)
    outbox.put(2)
    assert [text.partition('. ')[0] for _, text in lines()] == [
        'Notifications cannot be sent: refused']
    bus.refuses = []
    wait_for(lambda: len(lines()) == 2)
    assert lines()[1] == (
        'INFO', 'Notifications are sent again; 0 were dropped')
    assert bus.taken == [1, 2]


def test_a_refused_notification_is_dropped_without_keep(bus, lines):
    bus.refuses = [1, 2]
    outbox = Outbox(bus.send, bus.closed.set, keep=False, pause=0.01)
    for number in (1, 2, 3):
        outbox.put(number)
    wait_for(lambda: len(lines()) == 2)
    outbox.stop(10)
    assert bus.taken == [3]
    assert lines()[1] == (
        'INFO', 'Notifications are sent again; 2 were dropped')


def test_a_stop_sends_waiting_notifications(bus, outbox):
    hang(bus, outbox)
    outbox.put('waits')
    stopping = threading.Thread(target=outbox.stop, args=(20,))
    stopping.start()
    bus.open.set()
    stopping.join(20)
    assert bus.taken == ['in hand', 'waits']
    assert bus.closed.is_set()


@pytest.mark.parametrize('more', [0, 1, 3])
def test_a_stop_gives_up_a_bus_that_hangs(bus, outbox, lines, more):
    """The number of unsent notifications is logged."""
    hang(bus, outbox)
    for number in range(more):
        outbox.put(number)
    outbox.stop(0.1)
    assert lines() == [('WARNING', f'{1 + more} notification(s) were not '
                                   'sent before the stop')]
    assert not bus.closed.is_set()


def test_a_thread_that_was_given_up_ends_when_the_bus_goes_on(bus, outbox):
    hang(bus, outbox)
    outbox.put('given up')
    outbox.stop(0.1)
    bus.open.set()
    assert bus.closed.wait(10)
    assert bus.taken == ['in hand']


def test_a_stop_does_not_wait_for_a_bus_that_refuses(bus, lines):
    """Not even for the next try."""
    outbox = Outbox(bus.send, bus.closed.set, most=3, pause=60)
    bus.refuses = ['refused']
    outbox.put('refused')
    outbox.put('waits')
    wait_for(lambda: len(lines()) == 1)
    outbox.stop(20)
    assert bus.closed.is_set()
    assert lines()[1] == (
        'WARNING', '2 notification(s) were not sent before the stop')


def test_faults_and_final_refusals_drop_one_notification_each(
        bus, outbox, lines, caplog):
    """Each is logged once, a fault with its traceback."""
    for notification in (RefusedError, 1, RefusedError, ZeroDivisionError, 2):
        outbox.put(notification)
        wait_for(outbox._waiting.empty)
    wait_for(lambda: bus.taken == [1, 2])

    assert lines() == [
        ('ERROR', 'A notification cannot be sent and is dropped, as are '
                  f'others for the same reason: {reason}')
        for reason in ('that queue is durable', 'ZeroDivisionError()')]
    refusal, fault = caplog.records
    assert not refusal.exc_info
    assert fault.exc_info[0] is ZeroDivisionError
