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
    """{kind: what} of the changes for a request of so many instances."""
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


def what(found):
    return {kind: change.what for kind, change in found.items()}


def test_a_placed_request_needs_no_change():
    assert changes(a_host()) == {}


class TestFilterOff:
    def test_one_that_alone_rejects_a_host_can_be_off(self):
        found = changes(a_host('a', vcpus_used=999), a_host(
            'b', service_up=False, free_disk_mb=0), a_host(
                'c', service_disabled=True))

        assert what(found)['filter_off'] == {'filter': 'ComputeFilter'}
        assert str(found['filter_off']) == (
            'without ComputeFilter the request is placed')

    @pytest.mark.parametrize('values', [
        {'free_ram_mb': -99999}, {'free_disk_mb': 0}, {'vcpus_used': 999}])
    def test_a_filter_of_amounts_stays(self, values):
        """Hosts do not have more room without it."""
        found = changes(a_host('a', **values))

        assert 'freed' in found
        assert 'filter_off' not in found


class TestSmallerAmounts:
    @pytest.mark.parametrize(('hosts', 'asked', 'less', 'said'), [
        ([{'total_usable_ram_mb': 524288, 'free_ram_mb': 519680},
          {'total_usable_ram_mb': 65536, 'free_ram_mb': 65024}],
         {'memory_mb': 1000000}, {'memory_mb': 519680},
         'with up to 519,680 MB of RAM the request is placed'),
        ([{'free_disk_mb': 5000}], {'root_gb': 40}, {'disk_gb': 4},
         'with up to 4 GB of disk the request is placed'),
        ([{'vcpus_total': 8}], {'vcpus': 12, 'memory_mb': 100000},
         {'memory_mb': 32768, 'vcpus': 8},
         'with up to 32,768 MB of RAM and 8 VCPUs the request is placed')],
        ids=['RAM', 'disk', 'RAM and VCPUs'])
    def test_they_are_the_most_that_a_host_has_room_for(
            self, hosts, asked, less, said):
        found = changes(*(a_host(name, ram_allocation_ratio=1.0, **values)
                          for name, values in zip('ab', hosts, strict=False)),
                        **asked)

        assert what(found)['smaller_amounts'] == less
        assert str(found['smaller_amounts']) == said

    def test_all_instances_are_of_them(self):
        found = changes(*(full(name, free_ram_mb=ram) for name, ram in (
            ('a', 400), ('b', 300), ('c', 100))), count=2)

        assert str(found['smaller_amounts']) == (
            'with 300 MB of RAM the request is placed')

class TestSmallerFlavor:
    FLAVORS = [a_flavor(name=name, memory_mb=memory) for name, memory in (
        ('tiny', 64), ('small', 128), ('medium', 256), ('same', 512))]

    def test_the_largest_that_fits_is_chosen(self):
        found = changes(full('a', free_ram_mb=200), flavors=self.FLAVORS)

        assert what(found)['smaller_flavor']['flavor'] == 'small'
        assert str(found['smaller_flavor']) == (
            'with the flavor small (128 MB RAM, 1 VCPU, 1 GB disk) the '
            'request is placed')

    def test_all_instances_are_of_it(self):
        found = changes(full('a', free_ram_mb=200), flavors=self.FLAVORS,
                        count=3)

        assert what(found)['smaller_flavor']['flavor'] == 'tiny'


class TestHostEnabled:
    def test_one_that_would_fit_otherwise_can_be_enabled(self):
        found = changes(a_host('a', service_disabled=True, free_disk_mb=0),
                        a_host('b', service_disabled=True))

        assert what(found)['host_enabled'] == {
            'host': 'b', 'node': 'b', 'service': 'disabled'}
        assert str(found['host_enabled']) == (
            'with the disabled compute service on b enabled the request is '
            'placed')

    def test_one_with_room_for_all_instances_is_chosen(self):
        found = changes(full('a', service_up=False, free_ram_mb=600),
                        a_host('b', service_up=False), count=3)

        assert what(found)['host_enabled'] == {
            'host': 'b', 'node': 'b', 'service': 'down'}


class TestFreed:
    @pytest.mark.parametrize(('values', 'count', 'freed'), [
        ({'free_ram_mb': 500}, 1, {'ram_mb': 12}),
        ({'free_ram_mb': 500}, 2, {'ram_mb': 524}),
        ({'free_ram_mb': 512, 'free_disk_mb': 1000}, 1, {'disk_mb': 24}),
        ({'free_ram_mb': 0, 'vcpus_used': 16 * 16}, 1,
         {'ram_mb': 512, 'vcpus': 1})],
        ids=['RAM', 'of two instances', 'disk', 'RAM and VCPUs'])
    def test_it_is_the_least_that_works(self, values, count, freed):
        found = changes(full('a', **values), count=count)

        assert what(found)['freed'] == {'host': 'a', 'node': 'a', **freed}

    def test_it_is_on_the_host_where_least_is_needed(self):
        found = changes(full('a'), full('b', free_ram_mb=400), full('c'))

        assert str(found['freed']) == (
            'with 112 MB of RAM less on b the request is placed')

    def test_instances_that_are_too_many_count(self):
        found = changes(a_host('a', num_instances=52), ranker=a_ranker(
            'NumInstancesFilter'))

        assert what(found)['freed'] == {'host': 'a', 'node': 'a',
                                        'instances': 3}

    def test_more_than_is_in_use_cannot_be_freed(self):
        assert 'freed' not in changes(a_host(
            'a', total_usable_ram_mb=256, free_ram_mb=200))

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


class TestFewerInstances:
    def test_as_many_as_fit(self):
        found = changes(full('a', free_ram_mb=1100), full(
            'b', free_ram_mb=600), count=5)

        assert what(found)['fewer_instances'] == {'instances': 3, 'wanted': 5}
        assert str(found['fewer_instances']) == (
            'with 3 instead of 5 instances the request is placed')

    def test_are_not_proposed_if_none_fits(self):
        assert 'fewer_instances' not in changes(full('a'), count=2)


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
        assert snapshot.cell('free_ram_mb', 0) == 1
        assert not snapshot.writes
        assert placement.claimed == []
