"""The filter scheduler: picks, alternates, answers, groups and refusals."""

import collections

import pytest

from nova_sched import exception
from nova_sched.compat.row_api import driver as row_api
from nova_sched.objects import arguments
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates
from tests.builders.hosts import a_host

PLUGINS = ['nova.scheduler.filters.all_filters',
           f'{__name__}.OneInstanceFilter', f'{__name__}.SeenFilter']


class OneInstanceFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        return host_state.num_instances < 1


def a_scheduler(*records, enabled=('RamFilter',), **options):
    return MemoryScheduler(*records, available_filters=PLUGINS,
                           enabled_filters=list(enabled), **options)


def uuids(count):
    return [clouds.a_uuid(number) for number in range(1, count + 1)]


class SeenFilter(filters.BaseHostFilter):
    """Notes the instance of each call."""

    def __init__(self):
        self.seen = []

    def host_passes(self, host_state, spec_obj):
        self.seen.append(spec_obj.instance_uuid)
        return True


class TestHowManyInstances:
    def test_is_refused_for_an_empty_list(self):
        scheduler = a_scheduler(a_host('a'))

        with pytest.raises(exception.NoValidHost, match=(
                r'There are not enough hosts available\. The list of '
                'instance uuids is empty')):
            select(scheduler, requests.a_request(), [])

    def test_filters_see_the_uuid_of_each_instance(self):
        scheduler = a_scheduler(a_host('a'), enabled=['SeenFilter'])

        select(scheduler, requests.a_request(), uuids(2))

        assert scheduler.ranker.filters[0].rule.seen == uuids(2)


def test_filtered_hosts_stay_out_for_later_instances():
    scheduler = a_scheduler(
        a_host('a', num_instances=0), a_host('b', num_instances=1),
        enabled=['OneInstanceFilter'])

    with pytest.raises(exception.NoValidHost,
                       match=r'0 of 2 hosts: 2 OneInstanceFilter$'):
        select(scheduler, requests.a_request(num_instances=2))


class TestAnswer:
    def test_has_all_names_of_a_host(self, cloud):
        """Nothing is claimed, so the candidate is the text null."""
        cloud.load_nodes(
            clouds.a_compute_node('a', hypervisor_hostname='a-node',
                                  uuid=clouds.a_uuid(5)),
            aggregates=[clouds.an_aggregate(
                1, ['a'], metadata={'availability_zone': 'north'})])

        [[selection]] = select(cloud.driver(), requests.a_request())

        assert (selection.service_host, selection.nodename,
                selection.compute_node_uuid, selection.cell_uuid,
                selection.availability_zone, selection.allocation_request,
                selection.allocation_request_version) == (
            'a', 'a-node', clouds.a_uuid(5), clouds.CELL_UUID, 'north',
            'null', None)

    @pytest.mark.parametrize(('enabled', 'found'), [
        ('CoreFilter,JsonFilter', 'a'), ('JsonFilter,CoreFilter', 'b')])
    def test_holds_limits_that_later_filters_see(self, enabled, found):
        """Limits of later filters are not there yet."""
        scheduler = MemoryScheduler(
            a_host('a', vcpus_total=8, cpu_allocation_ratio=2.0),
            a_host('b', vcpus_total=4, cpu_allocation_ratio=2.0),
            enabled_filters=enabled.split(','))
        spec = requests.a_request(hints={'query': [
            '["or", ["=", "$limits.vcpu", 16], ["=", "$host", "b"]]']})

        assert picks(scheduler, spec) == [found]

def test_the_record_has_seed_parts_of_weights_and_times():
    scheduler = a_scheduler(a_host('a', free_ram_mb=3000), a_host('b'),
                            enabled=['ComputeFilter', 'RamFilter'], seed=99)
    select(scheduler, requests.a_request(memory_mb=1000), uuids(2))
    decision = scheduler.decision

    assert (decision.instances, decision.state.hosts, decision.seed) == (
        2, 2, 99)
    assert decision.instance_uuid == requests.INSTANCE_UUID
    assert decision.request_id.startswith('req-')
    assert [pick.instance_uuid for pick in decision.picks] == uuids(2)
    for pick in decision.picks:
        assert pick.weight == pytest.approx(sum(
            part.score for part in decision.weighing.parts(pick.index)))
    assert [*decision.milliseconds] == ['state', 'wait', 'filter', 'weigh']


def test_hosts_are_read_after_the_request_arrived(cloud):
    cloud.load(['a', 'b'])
    scheduler = cloud.driver()
    cloud.execute("UPDATE services SET disabled = 1 WHERE host = 'a'")

    assert picks(scheduler, requests.a_request()) == ['b']


def test_plug_ins_share_one_placement_client():
    class Own(row_api.RowApi, MemoryScheduler):
        """As loading a plug-in makes it."""

    driver = Own(a_host())

    assert driver.placement_client is driver.placement_client
    assert driver.placement_client.get_allocation_candidates


FILTERS = ['ComputeFilter', 'RamFilter']


@pytest.mark.parametrize(('records', 'request_', 'reason'), [
    ([a_host('a', service_up=False), a_host('b', service_disabled=True),
      *(a_host(name, free_ram_mb=-16232) for name in 'cdef')], {},
     '0 of 6 hosts: 4 RamFilter (need 1024 MB, most free 152 MB), '
     '2 ComputeFilter (1 service down, 1 service disabled)'),
    ([a_host('a'), a_host('b', service_disabled=True)],
     {'ignore_hosts': ['a']},
     '0 of 2 hosts: 1 ignore_hosts, 1 ComputeFilter (service disabled)'),
    ([a_host('a', free_ram_mb=2200, total_usable_ram_mb=2200,
             ram_allocation_ratio=1.0)], {'num_instances': 4},
     '2 of 4 instances could be placed; 0 of 1 hosts: 1 RamFilter (need '
     '1024 MB, most free 152 MB)'),
    ([], {}, 'there are no hosts')])
def test_the_reason_counts_hosts_by_rule(records, request_, reason):
    with pytest.raises(exception.NoValidHost) as refused:
        select(MemoryScheduler(*records, enabled_filters=FILTERS),
               requests.a_request(memory_mb=1024, **request_))

    assert str(refused.value) == (
        'No valid host was found. There are not enough hosts available. '
        f'{reason}')
    assert refused.value.kwargs['code'] == 500


@pytest.mark.parametrize('named, host, node', [
    ({'force_hosts': ['x', 'z']}, 'x', None),
    ({'force_nodes': ['y', 'z']}, None, 'y'),
    ({'force_hosts': ['a'], 'force_nodes': ['y']}, 'a', 'y'),
    ({'force_hosts': ['x'], 'force_nodes': ['a']}, 'x', 'a'),
    ({'requested_destination': requests.a_destination(host='x')}, 'x', None),
    ({'requested_destination': requests.a_destination(host='a', node='y')},
     'a', 'y'),
])
def test_an_unknown_host_or_node_is_named(named, host, node):
    """The first one, in Nova's words with the blank at their end."""
    with pytest.raises(exception.NoValidHost) as refused:
        select(MemoryScheduler(a_host('a')), requests.a_request(**named))

    assert refused.value.kwargs['reason'] == (
        f'No such host - host: {host} node: {node} ')


RAM_ONLY = {'weight_classes': ['nova.scheduler.weights.ram.RAMWeigher'],
            'enabled_filters': ['RamFilter']}


class UntilTwoArePlacedFilter(filters.BaseHostFilter):
    """Rejects host d once two members of the group are placed."""

    def host_passes(self, host_state, spec_obj):
        return host_state.host != 'd' or len(spec_obj.instance_group.hosts) < 2


def hosts_by_ram(names, **values):
    """Hosts with ever less free memory, so in this order of weight."""
    return [a_host(name, free_ram_mb=30000 - 100 * number, **values)
            for number, name in enumerate(names)]


def by_ram(*records, **options):
    return MemoryScheduler(*records, **{**RAM_ONLY, **options})


def for_each_seed(scheduler, ask):
    """The answers of ``ask(scheduler, request)`` with many seeds: Counter."""
    found = collections.Counter()
    for scheduler.seed in range(200):
        found[ask(scheduler, requests.a_request())] += 1
    return found


def pick(scheduler, spec):
    [host] = picks(scheduler, spec)
    return host


class TestPick:
    def test_is_the_first_by_name_among_equals(self):
        scheduler = by_ram(*(a_host(name) for name in 'cab'))

        assert {tuple(picks(scheduler, requests.a_request()))
                for _ in range(20)} == {('c',)}

    @pytest.mark.parametrize(('hosts', 'size', 'expected'), [
        ('abcde', 3, {'a', 'b', 'c'}), ('ab', 50, {'a', 'b'})])
    def test_is_random_within_the_subset(self, hosts, size, expected):
        found = for_each_seed(
            by_ram(*hosts_by_ram(hosts), host_subset_size=size), pick)

        assert set(found) == expected
        assert min(found.values()) > 40

    def test_is_random_among_equal_hosts_when_shuffled(self):
        records = [a_host(name, free_ram_mb=9000) for name in 'abc']
        records.append(a_host('d', free_ram_mb=8999))
        found = for_each_seed(
            by_ram(*records, shuffle_best_same_weighed_hosts=True), pick)

        assert set(found) == {'a', 'b', 'c'}
        assert min(found.values()) > 40

    def test_is_random_among_nearly_equal_hosts(self):
        """By the weights 1, 0.995, 0.95 and 0.5."""
        records = [a_host(name, free_ram_mb=free) for name, free in (
            ('a', 20000), ('b', 19900), ('c', 19000), ('d', 10000))]

        assert {band: set(for_each_seed(by_ram(
            *records, nova_sched__spread_near_equal=band), pick))
            for band in (None, 0, 0.01, 0.06)} == {
                None: {'a'}, 0: {'a'}, 0.01: {'a', 'b'},
                0.06: {'a', 'b', 'c'}}
        assert set(for_each_seed(by_ram(
            a_host('a'), a_host('b'), nova_sched__spread_near_equal=0),
            pick)) == {'a', 'b'}

    def test_has_a_seed_of_its_own_for_each_request(self):
        scheduler = by_ram(a_host('a'))
        seeds = set()
        for _ in range(10):
            picks(scheduler, requests.a_request())
            seeds.add(scheduler.decision.seed)

        assert len(seeds) == 10


ABCDE = hosts_by_ram('abcde')
CELLS = [a_host(name, free_ram_mb=9000 - 100 * number, cell_uuid=cell)
         for number, (name, cell) in enumerate(zip(
             'abcd', (CELL1, CELL2, CELL2, CELL1), strict=True))]

#: Hosts, number of instances, attempts, the pick and alternates of each.
ALTERNATES = [
    (ABCDE, 1, 3, ['abc']), (ABCDE, 1, 1, ['a']), (ABCDE, 1, 2, ['ab']),
    (ABCDE, 1, 4, ['abcd']), (ABCDE, 1, 9, ['abcde']),
    # In the cell of the pick.
    (CELLS, 1, 3, ['ad']), (CELLS, 2, 3, ['ad', 'bc']),
    # The pick of no instance.
    ([a_host(name) for name in 'abcd'], 3, 3, ['ad', 'bd', 'cd'])]


@pytest.mark.parametrize(('hosts', 'count', 'attempts', 'found'), ALTERNATES)
def test_alternates_are_the_next_best_hosts(hosts, count, attempts, found):
    """One fewer than the attempts, and only on request."""
    scheduler = by_ram(*hosts, scheduler__max_attempts=attempts)
    spec = requests.a_request()

    assert [''.join(names) for names in with_alternates(
        scheduler, spec, uuids(count))] == found
    assert picks(scheduler, spec, uuids(count)) == [
        names[0] for names in found]


class TestAlternates:
    def test_may_be_other_nodes_of_the_picked_host(self):
        scheduler = by_ram(a_host('a', nodename='n1'),
                                a_host('a', nodename='n2'))

        [[picked, alternate]] = select(scheduler, requests.a_request(),
                                       uuids(1), return_alternates=True)

        assert (picked.nodename, alternate.nodename) == ('n1', 'n2')

    def test_for_several_instances_are_filtered_again(self):
        """After all instances of the request are placed."""
        scheduler = by_ram(
            *hosts_by_ram('abcd'),
            available_filters=['nova.scheduler.filters.all_filters',
                               f'{__name__}.UntilTwoArePlacedFilter'],
            enabled_filters=['UntilTwoArePlacedFilter'],
            scheduler__max_attempts=9)
        spec = requests.a_request(group={'policy': 'soft-anti-affinity'})

        assert with_alternates(scheduler, spec, uuids(2)) == [
            ['a', 'c'], ['b', 'c']]

    def test_carry_their_own_limits(self):
        scheduler = by_ram(
            a_host('a', total_usable_ram_mb=40000, ram_allocation_ratio=1.0),
            a_host('b', total_usable_ram_mb=30000, ram_allocation_ratio=2.0))

        [[picked, alternate]] = select(scheduler, requests.a_request(),
                                       uuids(1), return_alternates=True)

        assert picked.limits.memory_mb == 40000
        assert alternate.limits.memory_mb == 60000

    def test_keep_their_order_behind_a_drawn_pick(self):
        """Hosts of the subset that were not drawn come first."""
        answers = for_each_seed(
            by_ram(*hosts_by_ram('abcd'), host_subset_size=3,
                        scheduler__max_attempts=9),
            lambda *asked: tuple(with_alternates(*asked, uuids(1))[0]))

        assert set(answers) == {('a', 'b', 'c', 'd'), ('b', 'a', 'c', 'd'),
                           ('c', 'a', 'b', 'd')}


UUIDS = [clouds.a_uuid(number) for number in range(1, 5)]
OLD = clouds.a_uuid(77)


def for_groups(hosts='abc', **options):
    return MemoryScheduler(
        *(a_host(name) for name in hosts), enabled_filters=[
            'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter'],
        **options)


def in_group(policy, members=(), **group):
    """A request for instances of the group, as Nova's API makes it."""
    return requests.a_request(group={
        'policy': policy, 'members': [*UUIDS, *members], **group})


class TestAntiAffinity:

    @pytest.mark.parametrize('version', ['1.9', '1.10', '1.11'])
    def test_holds_for_callers_that_send_no_uuids(self, version):
        """The version of a group selects the rules of a release."""
        spec = in_group('anti-affinity', hosts=[])
        spec.num_instances = 3
        spec.instance_group.wire_version = version

        assert sorted(picks(for_groups(), spec)) == ['a', 'b', 'c']

    def test_holds_for_the_dicts_of_kilo(self):
        spec = arguments.from_legacy_dicts(
            {'num_instances': 3, 'image': {}, 'instance_properties': {
                'uuid': UUIDS[0], 'project_id': 'p'},
             'instance_type': {'id': 1, 'name': 'm', 'flavorid': '1',
                               'memory_mb': 1, 'vcpus': 1, 'root_gb': 1,
                               'ephemeral_gb': 0, 'swap': 0}},
            {'group_updated': True, 'group_hosts': [],
             'group_policies': ['anti-affinity']})

        assert sorted(picks(for_groups(), spec)) == ['a', 'b', 'c']

    def test_refuses_more_instances_than_hosts(self):
        with pytest.raises(exception.NoValidHost) as refused:
            picks(for_groups(), in_group('anti-affinity'), UUIDS)

        assert refused.value.kwargs['reason'] == (
            'There are not enough hosts available. 3 of 4 instances could be '
            'placed; 0 of 3 hosts: 3 ServerGroupAntiAffinityFilter '
            '(anti-affinity, at most 1 of its group on a host, it has 1 on a, '
            '1 on b, 1 on c)')

    def test_allows_as_many_on_a_host_as_the_rule_says(self):
        spec = in_group('anti-affinity', rules={'max_server_per_host': '2'})

        found = picks(for_groups('ab'), spec, UUIDS)

        assert sorted(found) == ['a', 'a', 'b', 'b']

    def test_leaves_no_alternates_when_every_host_has_one(self):
        found = with_alternates(for_groups(), in_group('anti-affinity'),
                                UUIDS[:3])

        assert sorted(found) == [['a'], ['b'], ['c']]

    @pytest.mark.parametrize(('version', 'alternates'), [
        ('1.10', []), ('1.11', ['b2'])])
    def test_before_rocky_avoids_hosts_just_taken(self, version, alternates):
        """Later, the last instance may stay where it was just placed."""
        scheduler = MemoryScheduler(
            *(a_host(node[0], nodename=node)
              for node in ('a1', 'a2', 'b1', 'b2')),
            enabled_filters=['ServerGroupAntiAffinityFilter'])
        spec = in_group('anti-affinity', hosts=[])
        spec.instance_group.wire_version = version

        found = select(scheduler, spec, UUIDS[:2], return_alternates=True)

        assert [[node.nodename for node in chosen] for chosen in found] == [
            ['a1', *alternates], ['b1', *alternates]]


class TestAffinity:
    def test_leaves_no_alternates_for_several_instances(self):
        """An alternate would separate the instances."""
        found = with_alternates(for_groups(), in_group('affinity'), UUIDS[:2])

        assert found == [['a'], ['a']]


@pytest.mark.parametrize('policy, found', [
    ('affinity', ['b', 'b']), ('anti-affinity', ['a', 'c'])])
def test_group_hosts_are_looked_up_if_missing(cloud, policy, found):
    """In the database, by the hosts of the members."""
    cloud.load(['a', 'b', 'c'], instances=[
        clouds.an_instance('b', uuid=OLD),
        clouds.an_instance('c', uuid=clouds.a_uuid(78))])
    spec = in_group(policy, members=[OLD])
    spec.instance_group.hosts = None

    assert picks(cloud.driver(), spec, UUIDS[:2]) == found
