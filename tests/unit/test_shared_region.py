"""SharedRegion and its users while processes are killed."""

import contextlib
import itertools

import pytest

from nova_sched.inventory.shared_picks import SharedPicks
from nova_sched.observe.shared_sums import SharedSums
from nova_sched.placement.mirror.shared_responses import SharedResponses
from nova_sched.rpc import taken_calls
from nova_sched.shared_region import SharedRegion
from tests.builders.forks import in_child
from tests.builders.forks import in_worker
from tests.builders.forks import is_killed_at
from tests.builders.forks import stopped_in


@pytest.fixture
def region():
    return SharedRegion('a region', 100)


class TestLocks:
    @pytest.mark.parametrize('other', [0, 1])
    def test_locks_exclude_other_processes(self, region, other):
        with in_worker(region.locked), region.locked(other) as is_held:
            assert is_held is (other == 1)

    def test_stopped_lock_holder_is_not_waited_for(self, region):
        with stopped_in(region.locked), region.locked() as is_held:
            assert not is_held

    def test_killed_process_releases_lock(self, region):
        with in_worker(region.locked):
            pass
        assert region.try_lock()


class TestNumbers:
    def test_lowest_free_number_is_taken(self, region):
        assert [region.own(), region.own()] == [0, 0]
        assert in_child(region.own) == 1
        assert in_child(region.own) == 1

    def test_number_shows_live_process(self, region):
        @contextlib.contextmanager
        def owning():
            yield region.own()

        assert region.own() == 0
        with in_worker(owning):
            assert [region.lives(number) for number in range(3)] == [
                True, True, False]
        assert [region.lives(number) for number in range(2)] == [True, False]


def killed(work):
    """Kill one process after another at the next line: iterator.

    It ends when a process completes its work.
    """
    yield from itertools.takewhile(
        lambda line: is_killed_at(line, work), itertools.count())


class TestKilledAtAnyLine:
    def test_ring_stays_usable(self):
        picks = SharedPicks(2, size=200)
        one, other = picks.sharing(), picks.sharing()
        for line in killed(lambda: picks.sharing().tell('killed' * 5)):
            one.tell(line)
            assert [news for news in other.news()
                    if news != 'killed' * 5] == [line]

    def test_taken_calls_stay_usable(self, monkeypatch):
        monkeypatch.setattr(taken_calls, '_BUCKETS', 1)
        calls = taken_calls.TakenCalls()
        for number in range(16):
            calls.take(f'old {number}')
        for line in killed(lambda: calls.take('call')):
            assert calls.take(f'new {line}')
            assert not calls.take(f'new {line}')
        assert calls.take('call')

    def test_sums_stay_usable(self):
        sums = SharedSums(2)
        sums.begin(0)
        for line in killed(lambda: sums.place(('killed', 'x'), 2)):
            sums.mine[sums.place((f'{line}',))] += 1
        assert {tuple(each) for key, each in sums.all().items()
                if key != ('killed', 'x')} == {(1,)}

    def test_answer_stays_whole(self):
        answers = SharedResponses(['which'], workers=2)
        old = answers.get('which', 'it', lambda: 'old', -1)
        for _ in killed(lambda: answers.get('which', 'it', lambda: 'new',
                                            old.began)):
            assert answers.get('which', 'it', lambda: 'new', -1).value in (
                'old', 'new')
