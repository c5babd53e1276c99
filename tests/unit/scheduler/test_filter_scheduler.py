"""The filter scheduler: instance by instance, and its answers."""

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
    @pytest.mark.parametrize('number, instance_uuids, count', [
        pytest.param(3, None, 3, id='the number without uuids'),
        pytest.param(1, uuids(2), 2, id='more uuids than the number'),
        pytest.param(3, uuids(1), 1, id='fewer uuids than the number'),
    ])
    def test_is_the_number_of_uuids_if_there_are_any(
            self, number, instance_uuids, count):
        scheduler = a_scheduler(a_host('a'))

        answer = select(scheduler, requests.a_request(num_instances=number),
                        instance_uuids)

        assert len(answer) == count

    def test_is_refused_for_an_empty_list(self):
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


def test_consumption_of_disk_leaves_out_swap():
    """Though swap must fit when the instance is placed."""
    scheduler = a_scheduler(
        a_host('a', free_disk_mb=3 * 1024, total_usable_disk_gb=3),
        enabled=['DiskFilter'])

    assert picks(scheduler, requests.a_request(
        num_instances=2, root_gb=1, swap=1024)) == ['a', 'a']


class TestFilteredHosts:
    def test_stay_filtered_out_for_later_instances(self):
        scheduler = a_scheduler(
            a_host('a', num_instances=0), a_host('b', num_instances=1),
            enabled=['OneInstanceFilter'])

        with pytest.raises(exception.NoValidHost) as refused:
            select(scheduler, requests.a_request(num_instances=2))

        assert refused.value.kwargs['reason'].endswith(
            '0 of 2 hosts: 2 OneInstanceFilter')


class TestAnswer:
    def test_has_all_names_of_a_host(self, cloud):
        """Nothing is claimed, so the candidate is the text null."""
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
        """Limits of later filters are not there yet."""
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
        """No filter has run for them."""
        scheduler = a_scheduler(a_host('a'), enabled=['RamFilter'])

        [[selection]] = select(scheduler, requests.a_request(**named))

        assert selection.limits.to_dict() == {}


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
