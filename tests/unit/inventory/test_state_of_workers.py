"""Workers share the entries of their ledgers."""

import dataclasses

import pytest

from nova_sched.inventory import ledger
from nova_sched.inventory import shared_picks
from nova_sched.inventory.in_flight import News
from tests.builders.requests import a_request
from tests.unit.inventory.test_state import LIFETIME
from tests.unit.inventory.test_state import UUID
from tests.unit.inventory.test_state import Cloud


@pytest.fixture
def shared():
    return shared_picks.SharedPicks(2)


@pytest.fixture
def worker(shared):
    """Function that makes the Cloud of a further worker or driver."""
    def make(**kwargs):
        cloud = Cloud()
        cloud.state.sharing = shared.sharing(**kwargs)
        return cloud
    return make


@pytest.fixture
def one(worker):
    return worker()


@pytest.fixture
def other(worker):
    return worker()


def seen(cloud):
    """Return the free MB of a and b in a new view: list."""
    return cloud.free(cloud.state.view(()).table)


class TestPick:
    def test_pick_of_other_worker_is_looked_up(self, one, other):
        one.assume(UUID.format(1))

        assert other.state.uuids_to_look_up({'a'}) == [UUID.format(1)]

    def test_unseen_pick_is_a_conflict(self, one, other):
        view = one.state.view(['k'])
        other.assume('l')

        assert not one.assume('k', view=view)
        assert one.assume('k')
        assert seen(other) == [2000, 4000]

    def test_pick_on_other_host_is_no_conflict(self, one, other):
        view = one.state.view(['k'])
        other.assume('l', host='b')

        assert one.assume('k', view=view)
        assert seen(other) == [3000, 3000]

    def test_group_pick_is_a_conflict_for_group(self, one, other):
        view = one.state.view(['k'])
        other.assume('l', host='b', group='g')

        assert [pick.host for pick in one.state.of_group('g', [])] == ['b']
        assert not one.assume('k', view=view, group='g',
                              related=frozenset('g'))

    def test_claimed_group_pick_is_a_conflict(self, one, other):
        view = one.state.view(['k'])
        other.assume('l', host='b', group='g', claiming=True)

        assert not one.assume('m', view=view, related=frozenset('g'))


class TestNewsOfOtherDaemons:
    @pytest.fixture
    def elsewhere(self, shared):
        """The exchange with other daemons."""
        return shared.exchange()

    @pytest.mark.parametrize('reloads', ['never', 'then', 'meanwhile'])
    def test_late_news_of_deleted_instance_does_not_count(self, one, worker,
                                                          elsewhere, reloads):
        """A driver that takes over knows of the end, too."""
        fresh = worker(from_now=True) if reloads == 'meanwhile' else None
        news = News([one.pick(UUID.format(1))])
        elsewhere.tell(news)
        seen(one)
        for host, taken in (('a', 1000), (None, 0)):
            one.rebase({UUID.format(1): host}, a=taken)
        if reloads != 'never':
            fresh = fresh or worker(from_now=True)
            fresh.state.take_over(one.state)
        elsewhere.tell(news)

        assert seen(fresh or one) == [4000, 4000]

    @pytest.mark.parametrize('host, memory_mb', [('c', 1000), ('a', 10 ** 9)])
    def test_impossible_pick_is_dropped(self, one, elsewhere, host, memory_mb,
                                        caplog):
        odd = dataclasses.replace(
            one.pick('k', host=host),
            demand=a_request(memory_mb=memory_mb).demand())
        for number in range(3):
            elsewhere.tell(News([dataclasses.replace(
                odd, key=f'k{number}')], from_peer=True))

        assert seen(one) == [4000, 4000]
        assert caplog.text.count('of other daemons are dropped') == 1

    def test_entry_of_fast_clock_expires(self, one, elsewhere):
        elsewhere.tell(News([dataclasses.replace(one.pick('k'), at=1e11)],
                            from_peer=True))
        assert seen(one) == [3000, 4000]
        one.now += LIFETIME + 1

        one.rebase()

        assert seen(one) == [4000, 4000]

    def test_oldest_entries_make_room(self, one, elsewhere, monkeypatch):
        monkeypatch.setattr(ledger, 'MOST_ENTRIES', 3)
        for number in range(5):
            one.now += 1
            elsewhere.tell(News([one.pick(f'k{number}', host='ab'[
                number < 2])], from_peer=True))

        assert seen(one) == [1000, 4000]
        assert set(one.state.pending()) == {'k2', 'k3', 'k4'}
