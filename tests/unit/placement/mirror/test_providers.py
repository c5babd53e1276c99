"""Which providers of the mirror fit, and the effect of claims."""

import dataclasses
import threading

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_sched.placement.mirror import providers as mirror_providers
from nova_sched.placement.mirror.providers import Amounts
from nova_sched.scheduler.utils import Group
from nova_sched.scheduler.utils import ResourceRequest

A, B, C = 'a', 'b', 'c'
GOLD, SILVER = 'CUSTOM_GOLD', 'CUSTOM_SILVER'
ONE = {'VCPU': 1}


def a_provider(uuid, vcpus=4, used=0, generation=1, parent=None, traits=(),
               aggregates=(), limited=True, **units):
    return mirror_providers.Provider(
        uuid, generation, parent, {'VCPU': Amounts(vcpus, used, **units)},
        frozenset(traits),
        None if aggregates is None else frozenset(aggregates), limited)


def a_copy(*found):
    providers = mirror_providers.Providers()
    put(providers, *found)
    return providers


def put(providers, *found):
    """Put providers as read now; return the skipped uuids."""
    return providers.put(found, providers.now())


def a_query(vcpus=1, suffixed=None, same_subtree=(), root=(), not_root=(),
            **fields):
    groups = {'': Group(resources={'VCPU': vcpus}, **fields)}
    return ResourceRequest(groups | (suffixed or {}),
                           same_subtree=list(same_subtree),
                           root_required=set(root),
                           root_forbidden=set(not_root))


def fitting(providers, query=None):
    """Return the uuids that fit: text; None for an unsupported query."""
    rows, fits = providers.matching(query or a_query())
    if fits is None:
        return None
    return ''.join(uuid for uuid, row in rows.items() if fits[row])


class TestFitting:
    @pytest.mark.parametrize('amount, uuids', [
        (1, 'abc'), (2, 'ab'), (3, 'a'), (4, 'a'), (5, '')])
    def test_providers_with_room_fit(self, amount, uuids):
        providers = a_copy(a_provider(A), a_provider(B, used=2),
                           a_provider(C, used=3))

        assert fitting(providers, a_query(amount)) == uuids

    def test_providers_with_all_classes_fit(self):
        both = dataclasses.replace(a_provider(A), amounts={
            'VCPU': Amounts(4, 0), 'DISK_GB': Amounts(10, 0)})
        query = a_query()
        query.groups[''].resources['DISK_GB'] = 1

        assert fitting(a_copy(both, a_provider(B)), query) == A

    @pytest.mark.parametrize('units, amounts', [
        ({'min_unit': 2}, (2, 3, 4)), ({'max_unit': 2}, (1, 2)),
        ({'step_size': 2}, (2, 4)),
        ({'min_unit': 2, 'max_unit': 3, 'step_size': 3}, (3,))])
    def test_unit_sizes_limit_amounts(self, units, amounts):
        providers = a_copy(a_provider(A, **units))

        assert tuple(amount for amount in range(1, 6) if fitting(
            providers, a_query(amount))) == amounts

    @pytest.mark.parametrize('fields, uuids', [
        ({'required': {GOLD}}, 'ac'), ({'required': {GOLD, SILVER}}, 'c'),
        ({'forbidden': {GOLD}}, 'b'), ({'root': {SILVER}}, 'bc'),
        ({'not_root': {SILVER}}, 'a'),
        ({'required': {f'in:{GOLD},{SILVER}'}}, 'abc'),
        ({'required': {'HW_CPU_X86_AVX2'}}, ''),
        ({'forbidden': {'HW_CPU_X86_AVX2'}}, 'abc')])
    def test_providers_with_traits_fit(self, fields, uuids):
        providers = a_copy(
            a_provider(A, traits=[GOLD]), a_provider(B, traits=[SILVER]),
            a_provider(C, traits=[GOLD, SILVER]))

        assert fitting(providers, a_query(**fields)) == uuids

    @pytest.mark.parametrize('fields, uuids', [
        ({'member_of': [['one']]}, 'ac'), ({'member_of': [['two']]}, 'bc'),
        ({'member_of': [['one', 'two']]}, 'abc'),
        ({'member_of': [['one'], ['two']]}, 'c'),
        ({'member_of': [['none']]}, ''),
        ({'forbidden_aggregates': {'one'}}, 'b'),
        ({'forbidden_aggregates': {'one', 'two'}}, '')])
    def test_providers_in_aggregates_fit(self, fields, uuids):
        providers = a_copy(*map(a_provider, 'abc'))
        for aggregate, members in (('one', 'ac'), ('two', 'bc'), ('none', '')):
            providers.put_members(aggregate, members)

        assert fitting(providers, a_query(**fields)) == uuids

    def test_in_tree_limits_to_one_provider(self):
        providers = a_copy(a_provider(A), a_provider(B))

        assert fitting(providers, a_query(in_tree=B)) == B

    def test_invalid_provider_fits_after_next_read(self):
        providers = a_copy(a_provider(A), a_provider(B))
        assert providers.room().take({A: ONE})

        providers.invalidate([A, 'unknown'])
        assert fitting(providers) == B
        assert not providers.room().take({A: ONE})

        put(providers, a_provider(A))
        assert fitting(providers) == 'ab'


class TestUnsupported:
    @pytest.mark.parametrize('query', [
        a_query(suffixed={'1': Group(resources={'VGPU': 1})}),
        a_query(same_subtree=[['1', '2']]),
        a_query(member_of=[['not read']]),
        a_query(forbidden_aggregates={'not read'}),
        a_query(forbidden={'CUSTOM_THAT_NOBODY_HAS'}),
        a_query(in_tree='unknown'), a_query(in_tree='child'),
        ResourceRequest({'': Group()}),
        ResourceRequest({'': Group(resources={'CUSTOM_UNKNOWN': 1})})],
        ids=['groups', 'subtree', 'aggregate', 'forbidden aggregate',
             'trait', 'stranger', 'child', 'nothing', 'class'])
    def test_unsupported_query(self, query):
        child = dataclasses.replace(a_provider('child', parent=A), amounts={
            'VGPU': Amounts(1, 0)})

        assert fitting(a_copy(a_provider(A), child), query) is None

    @pytest.mark.parametrize('fields', [
        {'parent': A}, {'traits': ['MISC_SHARES_VIA_AGGREGATE']}])
    def test_child_or_sharing_provider_with_class(self, fields):
        assert fitting(a_copy(a_provider(A), a_provider(B, **fields))) is None

    def test_child_with_other_class_is_supported(self):
        child = dataclasses.replace(a_provider(B, parent=A), amounts={
            'VGPU': Amounts(1, 0)})

        assert fitting(a_copy(a_provider(A), child)) == A


class TestClaims:
    def test_assumed_claim_takes_room(self):
        providers = a_copy(a_provider(A, vcpus=2))
        providers.assume({A: ONE})
        room = providers.room()

        assert room.take({A: ONE})
        assert not room.take({A: ONE})
        assert fitting(providers) == A
        providers.assume({A: ONE})
        assert fitting(providers) == ''

    def test_room_is_taken_of_all_or_none(self):
        providers = a_copy(a_provider(A, vcpus=1), a_provider(B, vcpus=0))
        room = providers.room()

        assert not room.take({A: ONE, B: ONE})
        assert room.take({A: ONE})

    def test_assumed_claim_may_exceed_room(self):
        providers = a_copy(a_provider(A, vcpus=0), a_provider(B))

        providers.assume({A: ONE})

        assert fitting(providers) == B

    def test_listed_room_is_free_until_next_claim(self):
        """The mirror does not know yet that the room is free."""
        providers = a_copy(a_provider(A, vcpus=0))
        room, listed_at = providers.room(), providers.now()
        assert room.take({A: ONE}, listed_at)
        assert room.outdated == set()

        providers.assume({A: ONE})
        assert not room.take({A: ONE}, listed_at)
        assert not room.take({A: ONE}, providers.now())
        assert room.outdated == {A}

        providers.claimed({A: ONE})
        assert not room.take({A: ONE}, listed_at)
        assert room.take({A: ONE}, providers.now())

    def test_room_waits_for_claims_under_way(self):
        providers = a_copy(a_provider(A, vcpus=0))
        providers.assume({A: ONE})
        room = providers.room()
        room.wait()
        assert providers.are_under_way([A])

        room.take({A: ONE}, providers.now())
        end = threading.Timer(0.1, providers.claimed, [{A: ONE}])
        end.start()
        room.wait()
        assert not providers.are_under_way([A])
        end.join()

    def test_forgotten_claim_frees_room(self):
        providers = a_copy(a_provider(A, vcpus=1))
        providers.assume({A: ONE})
        assert fitting(providers) == ''

        providers.forget({A: ONE})

        assert fitting(providers) == A

    def test_own_writes_are_no_difference(self):
        providers = a_copy(a_provider(A, generation=7), a_provider(B))
        providers.assume({A: ONE})
        providers.written({A: 1, C: 1})
        providers.claimed({A: ONE})

        assert providers.differing({A: 8, B: 1}) == []
        assert providers.differing({A: 9, B: 0, C: 1}) == [A, B, C]

    @pytest.mark.parametrize('what', ['begins', 'ends'])
    def test_read_during_claim_is_skipped(self, what):
        """It is unknown whether the read includes the claim."""
        providers = a_copy(a_provider(A))
        if what == 'ends':
            providers.assume({A: ONE})
        since = providers.now()
        if what == 'begins':
            providers.assume({A: ONE})
        else:
            providers.claimed({A: ONE})

        assert providers.put([a_provider(A, used=0)], since) == [A]
        assert not providers.put_used(A, {'VCPU': 0}, since)
        assert fitting(providers, a_query(4)) == ''

    def test_claim_on_removed_provider_does_nothing(self):
        providers = a_copy(a_provider(A), a_provider(B))
        providers.assume({A: ONE})
        providers.keep({B})
        providers.claimed({A: ONE})
        put(providers, a_provider(A, generation=0))

        assert providers.differing({A: 0, B: 1}) == []
        assert fitting(providers, a_query(4)) == 'ba'


class TestReads:
    def test_reads_add_replace_and_remove_providers(self):
        providers = a_copy(a_provider(A), a_provider(B, traits=[GOLD]))
        providers.put_members('one', [B])
        put(providers, a_provider(C, traits=[SILVER], aggregates=['one']),
            a_provider(A, vcpus=9))

        assert fitting(providers, a_query(9)) == A
        assert fitting(providers, a_query(member_of=[['one']])) == 'bc'
        providers.keep({A, C})
        assert fitting(providers) == 'ac'
        assert fitting(providers, a_query(required={SILVER})) == C
        assert fitting(providers, a_query(member_of=[['one']])) == C
        assert fitting(providers, a_query(forbidden={GOLD})) == 'ac'

    def test_keep_does_not_remove_newer_providers(self):
        providers = a_copy(a_provider(A))
        since = providers.now()
        put(providers, a_provider(B))

        providers.keep(set(), since)

        assert fitting(providers) == B
        providers.keep(set(), providers.now())
        assert providers.uuids == ()

    def test_lacking_lists_providers_without_inventory(self):
        providers = a_copy(a_provider(A, vcpus=0), dataclasses.replace(
            a_provider(B), amounts={}))

        assert providers.lacking([C, A, B]) == [C, B]

    def test_summary_keeps_units_and_aggregates(self):
        providers = a_copy(a_provider(A, max_unit=2, aggregates=['one']))
        providers.put_members('one', [A])

        put(providers, a_provider(A, vcpus=8, limited=False, aggregates=None))

        assert fitting(providers, a_query(3)) == ''
        assert fitting(providers, a_query(2, member_of=[['one']])) == A
        assert providers.without_limits() == []

    def test_providers_without_units_are_listed(self):
        providers = a_copy(a_provider(A, limited=False), a_provider(B))

        assert providers.without_limits() == [A]

    def test_removed_class_is_removed(self):
        providers = a_copy(a_provider(A), a_provider(B))

        put(providers, dataclasses.replace(a_provider(A), amounts={}))

        assert fitting(providers) == B

    def test_put_used_replaces_usage_only(self):
        providers = a_copy(a_provider(A, used=4))

        assert providers.put_used(A, {'VCPU': 1}, providers.now())
        assert fitting(providers, a_query(3)) == A
        assert not providers.put_used('gone', {}, providers.now())

    def test_unread_aggregates_of_query_are_listed(self):
        providers = a_copy(a_provider(A))
        providers.put_members('one', [])
        query = a_query(member_of=[['one', 'two'], ['three']],
                        forbidden_aggregates={'four'})

        assert providers.without_members(query) == {'two', 'three', 'four'}

    def test_oldest_aggregate_is_forgotten_first(self, monkeypatch):
        monkeypatch.setattr(mirror_providers, 'MOST_AGGREGATES', 2)
        providers = a_copy(a_provider(A))
        for aggregate in ('one', 'two', 'one', 'three'):
            providers.put_members(aggregate, [])

        assert providers.oldest_aggregate == 'one'
        assert providers.without_members(
            a_query(member_of=[['two']])) == {'two'}


@given(st.lists(st.tuples(
    st.sampled_from('abc'), st.integers(1, 3), st.sampled_from(
        ['claimed', 'forgotten'])), max_size=30))
def test_usage_equals_claims(claims):
    providers = a_copy(*map(a_provider, 'abc'))
    used = dict.fromkeys('abc', 0)
    for uuid, amount, outcome in claims:
        amounts = {uuid: {'VCPU': amount}}
        taken = providers.room().take(amounts)
        assert taken == (used[uuid] + amount <= 4)
        if not taken:
            continue
        providers.assume(amounts)
        if outcome == 'forgotten':
            providers.forget(amounts)
            continue
        providers.claimed(amounts)
        used[uuid] += amount

    for free in range(1, 5):
        assert set(fitting(providers, a_query(free))) == {
            uuid for uuid in used if used[uuid] + free <= 4}
