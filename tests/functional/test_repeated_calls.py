"""A call that the broker delivers twice is decided once.

The broker redelivers if an acknowledgement is lost with its connection.
"""

import os
import re
import signal

import pytest

from tests.functional import broker
from tests.functional import captures
from tests.functional.processes import until

pytestmark = pytest.mark.real

#: How often a connection is cut.
TIMES = 3
WORKERS = 2

# An acknowledgement in AMQP 0-9-1: a frame with 13 bytes of method 60, 80.
ACKNOWLEDGEMENT = re.compile(
    rb'\x01..\x00\x00\x00\x0d\x00\x3c\x00\x50.{9}\xce', re.DOTALL)

# Waits while a file exists.
WAITING_FILTER = """
import os
import pathlib
import time

from nova_sched.scheduler import filters

GATE = pathlib.Path(__file__).with_name('gate')


class WaitingFilter(filters.BaseHostFilter):
    def filter_all(self, hosts, spec_obj):
        GATE.with_name('begun').write_text(str(os.getpid()))
        while GATE.exists():
            time.sleep(0.05)
        return hosts
"""


class Gate:
    """While closed, WaitingFilter waits.  directory: of the filter."""

    def __init__(self, directory):
        self._gate, self._begun = directory / 'gate', directory / 'begun'

    def close(self):
        self._begun.unlink(missing_ok=True)
        self._gate.touch()

    def open(self):
        self._gate.unlink()

    def wait(self):
        """Wait until a request is held up; return its process id."""
        return int(until(lambda: self._begun.exists()
                         and self._begun.read_text(), 'a request has begun'))


@pytest.fixture
def gate(tmp_path):
    (tmp_path / 'waiting_filter.py').write_text(WAITING_FILTER)
    return Gate(tmp_path)


@pytest.fixture
def season(tmp_path, gate):
    """(daemon of WORKERS behind a Door to the broker, the Door, Wire)."""
    with captures.open_stage(
            tmp_path, DEFAULT__debug=True,
            filter_scheduler__available_filters=[
                'nova_sched.scheduler.filters.all_filters',
                'waiting_filter.WaitingFilter'],
            filter_scheduler__enabled_filters='ComputeFilter,WaitingFilter',
            oslo_messaging_rabbit__rabbit_interval_max=1) as stage:
        door = stage.door_to_broker()
        door.open()
        daemon = stage.daemon(
            workers=WORKERS, environ={'PYTHONPATH': str(tmp_path)},
            DEFAULT__transport_url=door.url)
        with broker.wire(stage.transport_url) as wire:
            yield daemon, door, wire


def a_call(wire):
    """The message of a call for a host."""
    return wire.fresh(captures.load('34-simple-flavor')['request'])


def answer(wire, message):
    """The reply to a call: dict with result and failure."""
    msg_id = message['body']['oslo.message']['_msg_id']
    return wire.replies([msg_id])[msg_id]


def lose_acknowledgements(door, wire):
    """Lose all acknowledgements of the workers until a cut."""
    until(lambda: wire.consumers('scheduler') == WORKERS, 'both consume')
    door.loses = ACKNOWLEDGEMENT


def comes_again(daemon, message):
    """Log lines of a redelivered call."""
    unique_id = message['body']['oslo.message']['_unique_id']
    return daemon.lines(f'Call {unique_id} is a duplicate')


def placed(daemon, number=1):
    """Wait for ``number`` decided calls; return how many there are."""
    return len(daemon.wait_for_lines(' placed: ', times=number))


def test_call_with_a_lost_acknowledgement_is_decided_once(season, gate):
    """The worker that took it first answers."""
    daemon, door, wire = season
    for number in range(1, TIMES + 1):
        gate.close()
        lose_acknowledgements(door, wire)
        wire.send(call := a_call(wire))
        gate.wait()
        door.cut()
        until(lambda call=call: comes_again(daemon, call),
              'the call comes again')
        gate.open()
        assert answer(wire, call)['failure'] is None
        assert placed(daemon, number) == number
    assert not daemon.lines('Traceback')


def test_call_of_a_killed_worker_is_decided_by_another(season, gate):
    daemon, door, wire = season
    gate.close()
    lose_acknowledgements(door, wire)
    wire.send(call := a_call(wire))
    killed = gate.wait()
    os.kill(killed, signal.SIGKILL)
    until(lambda: killed not in daemon.workers, 'it is dead')
    gate.open()
    assert answer(wire, call)['failure'] is None
    assert placed(daemon) == 1
    assert not comes_again(daemon, call)


def test_call_redelivered_after_its_answer_is_not_decided_again(season):
    daemon, _, wire = season
    wire.send(call := a_call(wire))
    assert answer(wire, call)['failure'] is None
    for number in range(1, TIMES + 1):
        wire.send(call)
        until(lambda number=number: len(comes_again(daemon, call)) == number,
              'the call comes again')
    assert placed(daemon) == 1
