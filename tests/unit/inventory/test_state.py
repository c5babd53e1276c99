"""The state counts entries on hosts, and ends them."""

from concurrent import futures
import pickle

import pytest

from nova_sched.context import RequestContext
from nova_sched.inventory import decision_lock
from nova_sched.inventory import ledger
from nova_sched.inventory import state
from nova_sched.inventory.in_flight import PlacedInstance
from nova_sched.inventory.in_flight import is_uuid
from tests.builders.hosts import a_host
from tests.builders.hosts import table
from tests.builders.requests import a_request
from tests.builders.services import wait_for

LIFETIME = 100
#: An instance of 1000 MB, on a host with 4000 MB.
SPEC = a_request(memory_mb=1000)
UUID = '8d3f2c1e-0000-4000-8000-00000000000{}'


def a_state(clock):
    return state.SchedulingState(LIFETIME, clock, monotonic=clock)


class Cloud:
    """Picks on the hosts a and b, with a manual clock."""

    def __init__(self):
        self.now, self.base, self.taken = 1000.0, None, {}
        self.state = a_state(lambda: self.now)
        self.rebase()

    def rebase(self, located=None, changed=(), names='ab', **taken):
        """Read hosts, some of them changed, and locate instances.

        taken: MB in use as reported by hosts.
        """
        self.taken |= taken
        if (changed or taken or self.base is None
                or self.base.size != len(names)):
            self.base = table(*(a_host(name, free_ram_mb=4000 - (
                self.taken.get(name, 0))) for name in names))
        self.state.uuids_to_look_up({*changed, *taken})
        return self.state.rebase(self.base, located or {})

    def pick(self, key, host='a', group=None, claiming=False):
        return PlacedInstance(
            key, host, host, SPEC.demand(), None, group, self.now,
            {} if claiming else None)

    def assume(self, *keys, host='a', view=None, group=None, claiming=False,
               **kwargs):
        """Assume picks of instances with these keys; return success."""
        view = view or self.state.view(keys)
        found = [self.pick(key, host, group, claiming) for key in keys]
        snapshot = view.table.snapshot(None)
        for _ in found:
            snapshot.consume(view.table.row(host, host), SPEC.demand(),
                             self.now)
        return self.state.assume(view, found, snapshot, **kwargs)

    def free(self, host_table=None):
        """Return the free MB of a and b: list."""
        found = host_table or self.state.table
        return found.columns['free_ram_mb'].tolist()


@pytest.fixture
def cloud():
    return Cloud()


class TestReads:
    def test_new_values_keep_entries(self, cloud):
        cloud.assume('k')

        assert cloud.free(cloud.rebase()) == [3000, 4000]
        assert cloud.free(cloud.rebase(changed='b')) == [3000, 4000]
        assert cloud.free(cloud.rebase(changed='a')) == [3000, 4000]

    def test_returning_host_keeps_entries(self, cloud):
        cloud.assume('k')

        assert cloud.free(cloud.rebase(names='b')) == [4000]
        assert cloud.free(cloud.rebase()) == [3000, 4000]

    def test_unchanged_read_keeps_columns(self, cloud):
        base = table(a_host('a'))
        before = cloud.state.rebase(base, {})

        assert cloud.state.rebase(base, {}).columns is before.columns

    @pytest.mark.parametrize('found', [
        [None, 'b'], ['b', 'c'], ['a', None], ['a', 'b']])
    def test_instance_on_other_host_ends_entry(self, cloud, found):
        cloud.assume('k')
        for host in found:
            cloud.rebase({'k': host})

        assert cloud.free() == [4000, 4000]


class TestLookUp:
    def test_instances_on_reporting_hosts_are_looked_up(self, cloud):
        cloud.assume(UUID.format(1))
        cloud.assume(UUID.format(2), host='b')
        cloud.assume('no uuid' * 10)

        assert cloud.state.uuids_to_look_up(set()) == []
        assert cloud.state.uuids_to_look_up({'a', 'c'}) == [UUID.format(1)]
        assert sorted(cloud.state.uuids_to_look_up({'a', 'b'})) == [
            UUID.format(1), UUID.format(2)]

    def test_all_instances_are_looked_up_in_turn(self, cloud, monkeypatch):
        """A number per second, the longest waiting instances first."""
        monkeypatch.setattr(state, 'LOOKED_UP', 2)
        cloud.state.uuids_to_look_up(set())
        cloud.rebase()
        keys = [UUID.format(number) for number in range(5)]
        cloud.assume(*keys)
        asked = []
        for seconds in (0.9, 0.1, 1.0, 0.5, 0.5, 1.5):
            cloud.now += seconds
            asked.append(cloud.state.uuids_to_look_up(set()))
            cloud.state.rebase(cloud.state.table, {})

        assert asked == [[], keys[:2], keys[2:4], [], [keys[4], keys[0]],
                         keys[1:4]]

    def test_lookup_repeats_until_rebase(self, cloud):
        cloud.assume(UUID.format(1))
        cloud.now += ledger.GRACE

        assert [cloud.state.uuids_to_look_up(set()) for _ in range(2)] == [
            [UUID.format(1)]] * 2
        cloud.state.rebase(cloud.state.table, {})
        assert cloud.state.uuids_to_look_up(set()) == []


class TestView:
    def test_view_excludes_own_entries(self, cloud):
        cloud.assume('mine')
        cloud.assume('theirs')

        view = cloud.state.view(['mine', 'unknown'])

        assert cloud.free(view.table) == [3000, 4000]
        assert view.in_flight == 1
        assert cloud.free() == [2000, 4000]

    def test_new_request_views_the_table_itself(self, cloud):
        cloud.assume('theirs')

        assert cloud.state.view(['mine']).table is cloud.state.table


class TestAssume:
    def test_conflict_on_place_is_refused(self, cloud):
        view = cloud.state.view(['k'])
        cloud.assume('other')

        assert not cloud.assume('k', view=view)
        assert cloud.assume('k', host='b', view=view)
        assert cloud.free() == [3000, 3000]

    @pytest.mark.parametrize(('related', 'done'), [
        ({'other'}, False), ({'group'}, False), ({'k', 'another'}, True),
        (set(), True)])
    def test_conflict_on_related_key_is_refused(self, cloud, related, done):
        view = cloud.state.view(['k'])
        cloud.assume('other', host='b', group='group')

        assert cloud.assume('k', view=view, related=frozenset(related)) is done

    def test_repeated_decision_is_added_anyway(self, cloud):
        view = cloud.state.view(['k'])
        cloud.assume('other')

        assert cloud.assume('k', view=view, force=True)
        assert cloud.free() == [2000, 4000]

    def test_too_old_view_is_refused(self, cloud, monkeypatch):
        monkeypatch.setattr(ledger, 'MOST_NAMES', 4)
        views = []
        for number in range(4):
            views.append(cloud.state.view([]))
            cloud.assume(f'other{number}', host='b')

        assert not cloud.assume('k', view=views[0])
        assert cloud.assume('k', view=views[3])

    def test_view_of_replaced_state_is_refused(self, cloud):
        cloud.assume('before', group='g')
        view = cloud.state.view(['k'])
        later = a_state(lambda: cloud.now)
        later.rebase(table(a_host('a', free_ram_mb=4000)), {})

        later.take_over(cloud.state)

        assert not cloud.assume('k', view=view)
        assert list(later.pending()) == ['before']
        assert cloud.free(later.table) == [3000]
        assert [pick.key for pick in later.of_group('g', [])] == ['before']
        assert cloud.assume('k', view=view, force=True)
        assert cloud.free(later.table) == [2000]

    def test_repeated_key_counts_once(self, cloud):
        assert cloud.assume('k', 'k')

        assert cloud.free() == [3000, 4000]

    def test_pick_counts_on_newer_table(self, cloud):
        view = cloud.state.view(['k'])
        cloud.rebase(changed='ab')

        assert cloud.assume('k', view=view)
        assert cloud.free() == [3000, 4000]

    def test_second_pick_frees_first_place_on_newer_table(self, cloud):
        cloud.assume('k')
        view = cloud.state.view(['k'])
        cloud.rebase(changed='b')

        assert cloud.assume('k', host='b', view=view)
        assert cloud.free() == [4000, 3000]


def test_forgotten_pick_is_no_conflict(cloud):
    cloud.assume('k')
    view = cloud.state.view([])
    cloud.state.forget([cloud.pick('k')])

    assert cloud.assume('other', view=view)


def test_group_includes_picks_of_its_members(cloud):
    """Also picks that their host reports already."""
    cloud.assume('k', group='g')
    cloud.assume('member', host='b')
    cloud.rebase({'k': 'a'}, a=1000)

    assert {pick.key for pick in cloud.state.of_group(
        'g', ['member', 'unknown'])} == {'k', 'member'}
    assert cloud.state.of_group(None, []) == []
    assert cloud.state.pending(without=['member']) == {}
    assert list(cloud.state.pending()) == ['member']


def add(found, *picks):
    """Assume picks that are no part of a snapshot."""
    view = found.view()
    found.assume(view, picks, view.table.snapshot(None), force=True)


def test_bad_entry_is_skipped_and_logged(cloud, caplog):
    add(cloud.state,
        PlacedInstance('odd', 'a', 'a', object(), None, None, cloud.now),
        cloud.pick('k', 'b'))

    assert cloud.free(cloud.rebase(changed='ab')) == [4000, 3000]
    assert 'Cannot subtract instance odd from host a' in caplog.text


def test_entry_counts_on_its_node_only():
    found = a_state(lambda: 0.0)
    found.rebase(table(a_host('a', nodename='n1', free_ram_mb=4000),
                       a_host('a', nodename='n2', free_ram_mb=4000)), {})

    add(found, PlacedInstance('k', 'a', 'n2', SPEC.demand(), None, None, 0.0),
        PlacedInstance('k', 'a', 'gone', SPEC.demand(), None, None, 0.0),
        PlacedInstance('l', 'a', 'n1', SPEC.demand(), None, None, 0.0))

    assert found.table.columns['free_ram_mb'].tolist() == [3000, 4000]


@pytest.mark.parametrize(('key', 'expected'), [
    ('8d3f2c1e-0000-4000-8000-00000000000a', True), ('x' * 36, True),
    ('x' * 37, False), ('x\n', False), ('\xe9', False), (7, False),
    (None, False), (('x', 1), False)])
def test_only_possible_uuids_are_looked_up(key, expected):
    assert is_uuid(key) is expected


def test_demand_contains_no_token():
    spec_obj = a_request()
    spec_obj._context = RequestContext(auth_token='SECRET')

    assert b'SECRET' not in pickle.dumps(spec_obj.demand())
    assert spec_obj.demand().demand()._context is None


class TestDeciding:
    @pytest.fixture
    def threads(self):
        with futures.ThreadPoolExecutor() as pool:
            yield pool

    def test_decisions_follow_arrival_order(self, cloud, threads, monkeypatch):
        monkeypatch.setattr(state, 'PATIENCE', 999)
        order, waiting = [], cloud.state._decision_lock._queue

        def decide(number):
            with cloud.state.deciding():
                order.append(number)

        with cloud.state.deciding():
            for number in range(5):
                threads.submit(decide, number)
                wait_for(lambda count=number + 1: len(waiting) == count)
        threads.shutdown()

        assert order == [0, 1, 2, 3, 4]

    def test_slow_decision_is_overtaken(self, cloud, threads):
        with cloud.state.deciding():
            def decide():
                with cloud.state.deciding():
                    return True

            assert threads.submit(decide).result(30)

    def test_slice_ends_after_its_time(self, cloud, monkeypatch):
        with cloud.state.deciding() as hold:
            monkeypatch.setattr(decision_lock, 'SLICE', 999)
            assert not hold.slice_expired()
            monkeypatch.setattr(decision_lock, 'SLICE', 0)
            assert hold.slice_expired()
