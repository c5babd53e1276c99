"""Retries of releases after a failed request."""

import threading
import types

import pytest

from nova_sched import exception
from nova_sched.placement import releases
from nova_sched.placement.adapter import RetriesExhausted
from tests.builders.services import no_thread


class Clock:
    """A clock that advances by sleeping."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(releases, 'time', types.SimpleNamespace(
        monotonic=made.monotonic, sleep=made.sleep))
    return made


class Placement:
    """AllocationClaims that may refuse releases.

    tries: (seconds, instance, thread) of each release.
    """

    def __init__(self, clock, trouble):
        self._clock, self._trouble, self.tries = clock, trouble, []

    def release_all(self, uuids):
        return ()

    def release(self, uuid):
        self.tries.append((self._clock.now, uuid, threading.current_thread()))
        error = self._trouble(self._clock.now, uuid)
        if error is not None:
            raise error

    def release_claims(self, *uuids):
        """Release claims; return the seconds at which it was tried."""
        releases.release_claims(self, uuids)
        for thread in threading.enumerate():
            if thread.name == 'release claims':
                thread.join(60)
        return [when for when, _, _ in self.tries]


def test_caller_waits_five_seconds_then_thread_continues(clock, caplog):
    """First every second, then every five seconds for ten minutes."""
    placement = Placement(
        clock, lambda now, uuid: exception.PlacementError('it is away'))

    times = placement.release_claims('a')

    assert times[:5] == [0, 1, 2, 3, 4]
    assert times[5:] == list(range(9, 609, 5))
    mine = threading.current_thread()
    assert [thread is mine for _, _, thread in placement.tries] == [
        *[True] * 5, *[False] * 120]
    # A daemon thread does not delay the end of the service.
    assert placement.tries[-1][-1].daemon
    warned, counted, lost = caplog.messages
    assert warned == ('The allocations of instance a, which was not placed, '
                      'are not released yet: it is away')
    assert counted == (
        'The claims of 1 instance(s) are not released yet; retrying '
        'every 5 seconds for 600 seconds: a')
    assert lost.startswith('Claims of instances that were not placed are not '
                           'released: a. ')
    assert caplog.records[-1].levelname == 'ERROR'


def test_late_release_is_logged(clock, caplog):
    caplog.set_level('INFO')
    placement = Placement(clock, lambda now, uuid: (
        exception.PlacementError('it is away')
        if uuid == 'b' and now < 20 else None))

    assert placement.release_claims('a', 'b') == [
        0, 0, 1, 2, 3, 4, 9, 14, 19, 24]
    assert caplog.messages[-1] == ('The remaining claims are released: b')


def test_untried_claims_come_first(clock, caplog):
    errors = {'a': exception.PlacementError('refused'),
              'b': RetriesExhausted('late')}
    placement = Placement(
        clock, lambda now, uuid: errors[uuid] if now < 2 else None)

    placement.release_claims('a', 'b')

    assert [uuid for _, uuid, _ in placement.tries] == [*'ab', *'ba', *'ba']
    assert caplog.messages == []


def test_missing_thread_is_logged(clock, caplog):
    """The instance may be claimed for again."""
    placement = Placement(
        clock, lambda now, uuid: exception.PlacementError('it is away'))

    with no_thread():
        assert placement.release_claims('a') == [0, 1, 2, 3, 4]

    assert caplog.messages[-2] == ('Cannot start a thread to release them: '
                                   "can't start new thread")
    assert caplog.messages[-1].startswith(
        'Claims of instances that were not placed are not released: a. ')
    assert not releases.is_under_way('a')


def test_last_error_of_untried_claim_is_logged(clock, caplog):
    placement = Placement(clock, lambda now, uuid: (
        exception.PlacementError('refused') if uuid == 'a' and now < 1
        else RetriesExhausted('late') if now < 20 else None))

    placement.release_claims('a', 'b')

    assert [line.rpartition(' ')[2] for line in caplog.messages[:2]] == [
        'late', 'refused']


def test_fault_is_logged_and_not_retried(clock, caplog):
    placement = Placement(clock, lambda now, uuid: (
        ZeroDivisionError('a fault') if uuid == 'a' else None))

    assert placement.release_claims('a', 'b') == [0, 0]
    [record] = caplog.records
    assert record.exc_info
    assert 'The allocations of instance a, ' in record.getMessage()
