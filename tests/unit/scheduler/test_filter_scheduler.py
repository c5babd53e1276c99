"""The filter scheduler: instance by instance, and what it answers."""

import logging

import pytest

from nova_sched import exception
from nova_sched.compat.row_api import driver as row_api
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.hosts import a_host

PLUGINS = ['nova.scheduler.filters.all_filters',
           f'{__name__}.OneInstanceFilter', f'{__name__}.OneIoOpFilter',
           f'{__name__}.OncePerRequestFilter', f'{__name__}.SeenFilter']


class OneInstanceFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        return host_state.num_instances < 1


class OneIoOpFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        return host_state.num_io_ops < 1


class OncePerRequestFilter(OneInstanceFilter):
    run_filter_once_per_request = True


def a_scheduler(*records, enabled=('RamFilter',), **options):
    return MemoryScheduler(*records, available_filters=PLUGINS,
                           enabled_filters=list(enabled), **options)


def uuids(count):
    return [clouds.a_uuid(number) for number in range(1, count + 1)]


class SeenFilter(filters.BaseHostFilter):
    """Notes the instance that each request for a host is about."""

    def __init__(self):
        self.seen = []

    def host_passes(self, host_state, spec_obj):
        self.seen.append(spec_obj.instance_uuid)
        return True


class TestHowManyInstances:
    @pytest.mark.parametrize('number, instance_uuids, count', [
        pytest.param(3, None, 3, id='the number without uuids'),
        pytest.param(1, uuids(2), 2, id='more uuids than the number'),
        pytest.param(3, uuids(1), 1, id='fewer uuids than the number'),
    ])
    def test_is_told_by_the_uuids_where_there_are_any(
            self, number, instance_uuids, count):
        scheduler = a_scheduler(a_host('a'))

        answer = select(scheduler, requests.a_request(num_instances=number),
                        instance_uuids)

        assert len(answer) == count

    def test_of_an_empty_list_is_refused(self):
        scheduler = a_scheduler(a_host('a'))

        with pytest.raises(exception.NoValidHost) as refused:
            select(scheduler, requests.a_request(), [])

        assert refused.value.kwargs['reason'] == (
            'There are not enough hosts available. '
            'The list of instance uuids is empty')

    def test_filters_see_the_uuid_of_each_instance(self):
        scheduler = a_scheduler(a_host('a'), enabled=['SeenFilter'])

        select(scheduler, requests.a_request(), uuids(2))

        assert scheduler.ranker.filters[0].rule.seen == uuids(2)


class TestConsumption:
    """Two instances fit on the host and a third does not."""

    @pytest.mark.parametrize('enabled, host, flavor', [
        pytest.param('RamFilter', {'free_ram_mb': 2500,
                                   'total_usable_ram_mb': 2500,
                                   'ram_allocation_ratio': 1.0},
                     {'memory_mb': 1000}, id='memory'),
        pytest.param('DiskFilter', {'free_disk_mb': 25 * 1024,
                                    'total_usable_disk_gb': 25},
                     {'root_gb': 4, 'ephemeral_gb': 6}, id='disk'),
        pytest.param('CoreFilter', {'vcpus_total': 5,
                                    'cpu_allocation_ratio': 1.0},
                     {'vcpus': 2}, id='CPUs'),
        pytest.param('OneInstanceFilter', {'num_instances': -1}, {},
                     id='instances'),
        pytest.param('OneIoOpFilter', {'num_io_ops': -1}, {},
                     id='I/O operations'),
    ])
    def test_is_seen_by_the_next_instance(self, enabled, host, flavor):
        scheduler = a_scheduler(a_host('a', **host), enabled=[enabled])

        assert picks(scheduler, requests.a_request(num_instances=2,
                                                   **flavor)) == ['a', 'a']
        with pytest.raises(exception.NoValidHost,
                           match='2 of 3 instances could be placed'):
            select(scheduler, requests.a_request(num_instances=3, **flavor))

    def test_of_disk_leaves_out_swap(self):
        """Though swap must fit when the instance is placed."""
        scheduler = a_scheduler(
            a_host('a', free_disk_mb=3 * 1024, total_usable_disk_gb=3),
            enabled=['DiskFilter'])

        assert picks(scheduler, requests.a_request(
            num_instances=2, root_gb=1, swap=1024)) == ['a', 'a']

    def test_is_of_one_request_only(self):
        scheduler = a_scheduler(a_host(
            'a', free_ram_mb=1000, total_usable_ram_mb=1000,
            ram_allocation_ratio=1.0))

        for _ in range(3):
            assert picks(scheduler, requests.a_request(memory_mb=800)) == [
                'a']

    def test_spreads_instances_by_weight(self):
        scheduler = a_scheduler(
            a_host('a', free_ram_mb=5000), a_host('b', free_ram_mb=4500),
            a_host('c', free_ram_mb=3700),
            weight_classes=['nova.scheduler.weights.ram.RAMWeigher'])

        assert picks(scheduler, requests.a_request(memory_mb=1000),
                     uuids(4)) == ['a', 'b', 'a', 'c']


class TestSurvivors:
    def test_of_one_instance_are_all_that_the_next_may_have(self):
        """A host filtered out once stays out."""
        scheduler = a_scheduler(
            a_host('a', num_instances=0), a_host('b', num_instances=1),
            enabled=['OneInstanceFilter'])

        with pytest.raises(exception.NoValidHost) as refused:
            select(scheduler, requests.a_request(num_instances=2))

        assert refused.value.kwargs['reason'].endswith(
            '0 of 2 hosts: 2 OneInstanceFilter')

    def test_of_a_once_per_request_filter_are_not_asked_again(self):
        scheduler = a_scheduler(
            a_host('a'), a_host('b', num_instances=1),
            enabled=['OncePerRequestFilter'])

        assert picks(scheduler, requests.a_request(num_instances=3)) == [
            'a'] * 3


class TestAnswer:
    def test_says_all_of_a_host(self, cloud):
        """Nothing is to be claimed, so the candidate is the text null."""
        cloud.load_nodes(
            clouds.a_compute_node('a', hypervisor_hostname='a-node',
                                  uuid=clouds.a_uuid(5)),
            aggregates=[clouds.an_aggregate(
                1, ['a'], metadata={'availability_zone': 'north'})])

        [[selection]] = select(cloud.driver(), requests.a_request())

        assert selection.service_host == 'a'
        assert selection.nodename == 'a-node'
        assert selection.compute_node_uuid == clouds.a_uuid(5)
        assert selection.cell_uuid == clouds.CELL_UUID
        assert selection.availability_zone == 'north'
        assert selection.allocation_request == 'null'
        assert selection.allocation_request_version is None

    def test_names_the_default_zone_for_hosts_in_none(self):
        scheduler = a_scheduler(a_host('a'),
                                DEFAULT__default_availability_zone='nova7')

        [[selection]] = select(scheduler, requests.a_request())

        assert selection.availability_zone == 'nova7'

    def test_holds_the_limits_that_filters_set(self):
        scheduler = a_scheduler(
            a_host('a', total_usable_ram_mb=1000, ram_allocation_ratio=1.5,
                   vcpus_total=4, cpu_allocation_ratio=2.0),
            enabled=['RamFilter', 'CoreFilter'])

        [[selection]] = select(scheduler, requests.a_request())

        assert selection.limits.to_dict() == {'memory_mb': 1500, 'vcpu': 8}

    @pytest.mark.parametrize(('enabled', 'found'), [
        ('CoreFilter,JsonFilter', True), ('JsonFilter,CoreFilter', False)])
    def test_holds_limits_that_later_filters_see(self, enabled, found):
        """Not those of filters that have yet to run."""
        scheduler = MemoryScheduler(
            a_host('a', vcpus_total=8, cpu_allocation_ratio=2.0),
            a_host('b', vcpus_total=4, cpu_allocation_ratio=2.0),
            enabled_filters=enabled.split(','))
        spec = requests.a_request(hints={
            'query': ['["=", "$limits.vcpu", 16]']})

        if found:
            assert picks(scheduler, spec) == ['a']
        else:
            with pytest.raises(exception.NoValidHost):
                picks(scheduler, spec)

    @pytest.mark.parametrize('named', [{'force_hosts': ['a']},
                                       {'force_nodes': ['a']}])
    def test_holds_no_limits_for_forced_hosts(self, named):
        """For them no filter has run."""
        scheduler = a_scheduler(a_host('a'), enabled=['RamFilter'])

        [[selection]] = select(scheduler, requests.a_request(**named))

        assert selection.limits.to_dict() == {}


class TestDecisionRecord:
    @pytest.fixture
    def scheduler(self):
        """One request for two instances was decided and is on record."""
        scheduler = a_scheduler(
            a_host('a', free_ram_mb=3000), a_host('b', free_ram_mb=2500),
            a_host('c', service_disabled=True), a_host('d', free_ram_mb=10),
            enabled=['ComputeFilter', 'RamFilter'], seed=99)
        select(scheduler, requests.a_request(memory_mb=1000), uuids(2))
        return scheduler

    def test_says_what_was_asked_and_drawn(self, scheduler):
        decision = scheduler.decision

        assert decision.instances == 2
        assert decision.state.hosts == 4
        assert decision.seed == 99
        assert decision.instance_uuid == requests.INSTANCE_UUID
        assert decision.request_id.startswith('req-')

    def test_counts_hosts_before_and_after_each_filter(self, scheduler):
        """ComputeFilter runs once a request."""
        assert [(step.index, step.name, step.before, step.after)
                for step in scheduler.decision.funnel.steps] == [
            (0, 'ComputeFilter', 4, 3), (0, 'RamFilter', 3, 3),
            (1, 'RamFilter', 3, 3)]

    def test_names_each_pick_with_the_parts_of_its_weight(self, scheduler):
        decision = scheduler.decision
        first, second = decision.picks

        assert (first.index, first.host, first.nodename) == (0, 'a', 'a')
        assert (second.index, second.host) == (1, 'b')
        assert [first.instance_uuid, second.instance_uuid] == uuids(2)
        assert decision.weighing.parts(0)[0].name == 'RAMWeigher'
        assert decision.weighing.parts(0)[0].raw == 3000.0
        for pick in (first, second):
            assert pick.weight == pytest.approx(
                sum(part.score for part
                    in decision.weighing.parts(pick.index)))

    def test_times_each_step(self, scheduler):
        assert list(scheduler.decision.milliseconds) == [
            'state', 'wait', 'filter', 'weigh']

    def test_counts_alternates(self):
        scheduler = a_scheduler(*(a_host(name) for name in 'abcde'))

        select(scheduler, requests.a_request(), uuids(2),
               return_alternates=True)

        assert scheduler.decision.alternates == 4

    def test_is_kept_of_refused_requests(self):
        scheduler = a_scheduler(a_host('a'))

        with pytest.raises(exception.NoValidHost):
            select(scheduler, requests.a_request(memory_mb=10 ** 6))

        assert scheduler.decision.picks == []
        assert [step.after for step in scheduler.decision.funnel.steps] == [0]


class TestLogTrail:
    def test_names_the_picked_host_when_debugging(self, caplog):
        with caplog.at_level(logging.DEBUG, 'nova_sched'):
            select(a_scheduler(a_host('a')), requests.a_request())

        assert any(text.startswith('Selected host: (a, a) ram:')
                   for text in caplog.messages)


class TestState:
    def test_is_read_after_the_request_arrived(self, cloud):
        cloud.load(['a', 'b'])
        scheduler = cloud.driver()
        cloud.execute("UPDATE services SET disabled = 1 WHERE host = 'a'")

        assert picks(scheduler, requests.a_request()) == ['b']

    def test_leaves_out_hosts_whose_service_is_down(self, cloud):
        cloud.load(['a', 'b'])
        scheduler = cloud.driver()
        cloud.execute("UPDATE services SET last_seen_up = '2020-01-01' "
                      "|| ' 00:00:00' WHERE host = 'a'")

        assert picks(scheduler, requests.a_request(num_instances=2)) == [
            'b', 'b']

    def test_that_cannot_be_read_fails_the_request(self, cloud):
        cloud.load(['a'])
        scheduler = cloud.driver()
        cloud.execute('ALTER TABLE services RENAME TO moved')

        with pytest.raises(exception.DatabaseUnavailable):
            select(scheduler, requests.a_request())


def test_plug_ins_have_one_client_of_placement_among_them():
    class Own(row_api.RowApi, MemoryScheduler):
        """As loading a driver of somebody else's makes it."""

    driver = Own(a_host())

    assert driver.placement_client is driver.placement_client
    assert driver.placement_client.get_allocation_candidates
