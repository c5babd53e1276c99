"""The smallest changes by which a refused request would be placed."""

import json

import pytest

from nova_sched.dry_run.trial import Trial
from nova_sched.explain.changes import smallest_changes
from nova_sched.explain.matrix import judge
from nova_sched.hosts.budget import Budget
from nova_sched.scheduler import filters
from nova_sched.scheduler.attempt import SchedulingRequest
from tests.builders import clouds
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.placement import Placement
from tests.builders.requests import a_destination
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request
from tests.unit.explain.builders import a_ranker
from tests.unit.explain.builders import full


class SpentFilter(filters.BaseHostFilter):
    """Spends what time there is."""

    def host_passes(self, host_state, spec_obj):
        while True:
            Budget(1e-9).check('test')


def changes(*records, count=1, ranker=None, offer=None, flavors=(),
            budget=None, **request):
    """{kind: Change} for a request of so many instances."""
    snapshot = hosts(*records).snapshot
    if offer is not None:
        snapshot.offer = offer
    found = smallest_changes(
        snapshot, SchedulingRequest(
            a_request(num_instances=count, **request),
            [clouds.a_uuid(number) for number in range(count)], count),
        ranker or a_ranker(), flavors, 'nova', budget=budget or Budget()).found
    for change in found:
        shown = change.to_dict()
        assert json.loads(json.dumps(shown)) == shown
        assert shown['sentence'] == str(change)
    return {change.kind: change for change in found}


def test_a_placed_request_needs_no_change():
    assert changes(a_host()) == {}


FLAVORS = [a_flavor(name=name, memory_mb=memory) for name, memory in (
    ('tiny', 64), ('small', 128), ('medium', 256), ('same', 512))]

#: Hosts; a request, and other arguments; kind, what and sentence of a change.
#: None for anything.
CHANGES = [
    ([a_host('a', vcpus_used=999), a_host('b', service_up=False,
                                          free_disk_mb=0),
      a_host('c', service_disabled=True)], {}, 'filter_off',
     {'filter': 'ComputeFilter'},
     'without ComputeFilter the request is placed'),
    ([a_host('a', total_usable_ram_mb=524288, free_ram_mb=519680,
             ram_allocation_ratio=1.0),
      a_host('b', total_usable_ram_mb=65536, free_ram_mb=65024,
             ram_allocation_ratio=1.0)], {'memory_mb': 1000000},
     'smaller_amounts', {'memory_mb': 519680},
     'with up to 519,680 MB of RAM the request is placed'),
    ([a_host('a', free_disk_mb=5000)], {'root_gb': 40},
     'smaller_amounts', {'disk_gb': 4},
     'with up to 4 GB of disk the request is placed'),
    ([a_host('a', vcpus_total=8, ram_allocation_ratio=1.0)],
     {'vcpus': 12, 'memory_mb': 100000},
     'smaller_amounts', {'memory_mb': 32768, 'vcpus': 8},
     'with up to 32,768 MB of RAM and 8 VCPUs the request is placed'),
    # Each instance gets the amounts, on a host of its own.
    ([full('a', free_ram_mb=400), full('b', free_ram_mb=300),
      full('c', free_ram_mb=100)], {'count': 2}, 'smaller_amounts', None,
     'with 300 MB of RAM the request is placed'),
    ([full('a', free_ram_mb=200)], {'flavors': FLAVORS},
     'smaller_flavor', None,
     'with the flavor small (128 MB RAM, 1 VCPU, 1 GB disk) the request is '
     'placed'),
    ([full('a', free_ram_mb=200)], {'flavors': FLAVORS, 'count': 3},
     'smaller_flavor', None,
     'with the flavor tiny (64 MB RAM, 1 VCPU, 1 GB disk) the request is '
     'placed'),
    ([a_host('a', service_disabled=True, free_disk_mb=0),
      a_host('b', service_disabled=True)], {}, 'host_enabled',
     {'host': 'b', 'node': 'b', 'service': 'disabled'},
     'with the disabled compute service on b enabled the request is placed'),
    # The host has room for all instances.
    ([full('a', service_up=False, free_ram_mb=600),
      a_host('b', service_up=False)], {'count': 3}, 'host_enabled',
     {'host': 'b', 'node': 'b', 'service': 'down'}, None),
    ([full('a', free_ram_mb=500)], {}, 'freed',
     {'host': 'a', 'node': 'a', 'ram_mb': 12}, None),
    ([full('a', free_ram_mb=500)], {'count': 2}, 'freed',
     {'host': 'a', 'node': 'a', 'ram_mb': 524}, None),
    ([full('a', free_ram_mb=512, free_disk_mb=1000)], {}, 'freed',
     {'host': 'a', 'node': 'a', 'disk_mb': 24}, None),
    ([full('a', free_ram_mb=0, vcpus_used=16 * 16)], {}, 'freed',
     {'host': 'a', 'node': 'a', 'ram_mb': 512, 'vcpus': 1}, None),
    # Least is needed on b.
    ([full('a'), full('b', free_ram_mb=400), full('c')], {}, 'freed', None,
     'with 112 MB of RAM less on b the request is placed'),
    ([a_host('a', num_instances=52)],
     {'ranker': a_ranker('NumInstancesFilter')}, 'freed',
     {'host': 'a', 'node': 'a', 'instances': 3}, None),
    ([full('a', free_ram_mb=1100), full('b', free_ram_mb=600)],
     {'count': 5}, 'fewer_instances', {'instances': 3, 'wanted': 5},
     'with 3 instead of 5 instances the request is placed'),
]


@pytest.mark.parametrize('records, wanted, kind, change, sentence', CHANGES)
def test_the_smallest_change_of_a_kind(
        records, wanted, kind, change, sentence):
    found = changes(*records, **wanted)[kind]

    assert change in (None, found.what)
    assert sentence in (None, str(found))


@pytest.mark.parametrize('values', [
    {'free_ram_mb': -99999}, {'free_disk_mb': 0}, {'vcpus_used': 999}])
def test_a_filter_of_amounts_stays(values):
    """Hosts do not have more room without it."""
    found = changes(a_host('a', **values))

    assert 'freed' in found
    assert 'filter_off' not in found


def test_more_than_is_in_use_cannot_be_freed():
    assert 'freed' not in changes(a_host(
        'a', total_usable_ram_mb=256, free_ram_mb=200))


def test_fewer_instances_are_not_proposed_if_none_fits():
    assert 'fewer_instances' not in changes(full('a'), count=2)


class TestWhere:
    ZONES = [a_host(zone, aggregates=[{'availability_zone': zone}])
             for zone in ('z1', 'z2')]

    def test_another_zone_or_none_may_have_a_host(self):
        found = smallest_changes(
            hosts(full('z1', aggregates=[{'availability_zone': 'z1'}]),
                  self.ZONES[1], a_host('none')).snapshot, SchedulingRequest(
                a_request(availability_zone='z1'), None, 1), a_ranker(),
            default_zone='nova').found

        assert [str(each) for each in found if each.kind == 'other_zone'] == [
            'without availability zone z1 the request is placed',
            'in availability zone nova instead of z1 the request is placed']

    @pytest.mark.parametrize(('pin', 'names'), [
        ({'force_hosts': ['a']}, 'force_hosts a'),
        ({'force_nodes': ['a']}, 'force_nodes a'),
        ({'requested_destination': a_destination(host='a', node='a')},
         'requested_destination a, a')])
    def test_without_the_pin_another_host_may_fit(self, pin, names):
        ranker = a_ranker('RamFilter')
        found = changes(full('a', uuid='p1'), a_host('b', uuid='p2'),
                        ranker=ranker, offer=Placement(['p2']).candidates(),
                        **pin)

        assert str(found['unpinned']) == (
            f'without {names} the request is placed')


def test_a_trial_ends_at_the_first_instance_without_a_host():
    """All filters judge the hosts that the earlier instances leave."""
    trial = Trial(SchedulingRequest(a_request(), None, 3), a_ranker(), hosts(
        full('a', free_ram_mb=600), a_host('b', service_up=False)).snapshot)

    assert (trial.count, trial.error is None) == (1, False)
    assert judge(trial.hosts, trial.spec_obj, a_ranker()).summary() == (
        '0 of 2 hosts fit, rejected: 1 only RamFilter; 1 only ComputeFilter')


class TestBudget:
    def test_changes_found_before_its_end_are_returned(self):
        assert changes(a_host(), ranker=a_ranker(SpentFilter()),
                       budget=Budget(0.01)) == {}

    def test_flavors_are_tried_first_and_the_search_is_incomplete(self):
        """Behind the request itself, its matrix, and one more."""
        left = iter(range(3))

        class RareFilter(filters.BaseHostFilter):
            def filter_all(self, filter_obj_list, spec_obj):
                if next(left, None) is None:
                    while True:
                        Budget(1e-9).check('test')
                return filter_obj_list if spec_obj.flavor.memory_mb == 1 else (
                    [])

        request = SchedulingRequest(a_request(availability_zone='z1'), None, 1)
        found = smallest_changes(
            hosts(a_host()).snapshot, request, a_ranker(RareFilter()),
            [a_flavor(name='tiny', memory_mb=1)])

        assert [change.kind for change in found.found] == ['smaller_flavor']
        assert not found.complete

    @pytest.mark.parametrize('count, complete', [(20, True), (21, False)])
    def test_too_many_proposals_of_a_kind_are_incomplete(
            self, count, complete):
        """No flavor helps, as the host is down."""
        found = smallest_changes(
            hosts(full('a', service_up=False)).snapshot,
            SchedulingRequest(a_request(), None, 1), a_ranker(),
            [a_flavor(name=f'f{size}', memory_mb=2 + size)
             for size in range(count)])

        assert (found.found, found.complete) == ([], complete)

    def test_nothing_is_changed_or_claimed(self):
        placement = Placement(['p'])
        snapshot = hosts(full('a', uuid='p')).snapshot
        snapshot.offer = placement.candidates()
        request = SchedulingRequest(a_request(), [clouds.a_uuid(1)], 1)

        assert smallest_changes(snapshot, request, a_ranker()).found
        assert snapshot.value('free_ram_mb', 0) == 1
        assert not snapshot.writes
        assert placement.claimed == []
