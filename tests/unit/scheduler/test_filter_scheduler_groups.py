"""Server groups in requests for several instances."""

import pytest

from nova_sched import exception
from nova_sched.objects import arguments
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.drivers import with_alternates
from tests.builders.hosts import a_host

UUIDS = [clouds.a_uuid(number) for number in range(1, 5)]
OLD = clouds.a_uuid(77)


def a_scheduler(hosts='abc', **options):
    return MemoryScheduler(
        *(a_host(name) for name in hosts), enabled_filters=[
            'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter'],
        **options)


def a_request(policy, members=(), **group):
    """A request for instances of the group, as Nova's API makes it."""
    return requests.a_request(group={
        'policy': policy, 'members': [*UUIDS, *members], **group})


class TestAntiAffinity:

    @pytest.mark.parametrize('version', ['1.9', '1.10', '1.11'])
    def test_holds_for_callers_that_send_no_uuids(self, version):
        """The version of a group selects the rules of a release."""
        spec = a_request('anti-affinity', hosts=[])
        spec.num_instances = 3
        spec.instance_group.wire_version = version

        assert sorted(picks(a_scheduler(), spec)) == ['a', 'b', 'c']

    def test_holds_for_the_dicts_of_kilo(self):
        spec = arguments.from_legacy_dicts(
            {'num_instances': 3, 'image': {}, 'instance_properties': {
                'uuid': UUIDS[0], 'project_id': 'p'},
             'instance_type': {'id': 1, 'name': 'm', 'flavorid': '1',
                               'memory_mb': 1, 'vcpus': 1, 'root_gb': 1,
                               'ephemeral_gb': 0, 'swap': 0}},
            {'group_updated': True, 'group_hosts': [],
             'group_policies': ['anti-affinity']})

        assert sorted(picks(a_scheduler(), spec)) == ['a', 'b', 'c']

    def test_refuses_more_instances_than_hosts(self):
        with pytest.raises(exception.NoValidHost) as refused:
            picks(a_scheduler(), a_request('anti-affinity'), UUIDS)

        assert refused.value.kwargs['reason'] == (
            'There are not enough hosts available. 3 of 4 instances could be '
            'placed; 0 of 3 hosts: 3 ServerGroupAntiAffinityFilter '
            '(anti-affinity, at most 1 of its group on a host, it has 1 on a, '
            '1 on b, 1 on c)')

    def test_allows_as_many_on_a_host_as_the_rule_says(self):
        spec = a_request('anti-affinity', rules={'max_server_per_host': '2'})

        found = picks(a_scheduler('ab'), spec, UUIDS)

        assert sorted(found) == ['a', 'a', 'b', 'b']

    def test_leaves_no_alternates_when_every_host_has_one(self):
        found = with_alternates(a_scheduler(), a_request('anti-affinity'),
                                UUIDS[:3])

        assert sorted(found) == [['a'], ['b'], ['c']]


    @pytest.mark.parametrize(('version', 'alternates'), [
        ('1.10', []), ('1.11', ['b2'])])
    def test_before_rocky_alternates_avoid_hosts_just_taken(
            self, version, alternates):
        """Later, the last instance may stay where it was just placed."""
        scheduler = MemoryScheduler(
            *(a_host(node[0], nodename=node)
              for node in ('a1', 'a2', 'b1', 'b2')),
            enabled_filters=['ServerGroupAntiAffinityFilter'])
        spec = a_request('anti-affinity', hosts=[])
        spec.instance_group.wire_version = version

        found = select(scheduler, spec, UUIDS[:2], return_alternates=True)

        assert [[node.nodename for node in chosen] for chosen in found] == [
            ['a1', *alternates], ['b1', *alternates]]


class TestAffinity:
    def test_puts_all_instances_on_one_host(self):
        found = picks(a_scheduler(), a_request('affinity'), UUIDS)

        assert len(set(found)) == 1

    def test_leaves_no_alternates_for_several_instances(self):
        """An alternate would separate the instances."""
        found = with_alternates(a_scheduler(), a_request('affinity'),
                                UUIDS[:2])

        assert found == [['a'], ['a']]


class TestGroupHosts:
    @pytest.mark.parametrize('policy, found', [
        ('affinity', ['b', 'b']), ('anti-affinity', ['a', 'c'])])
    def test_are_looked_up_if_the_caller_has_none(self, cloud, policy, found):
        """In the database, by the hosts of the members."""
        cloud.load(['a', 'b', 'c'], instances=[
            clouds.an_instance('b', uuid=OLD),
            clouds.an_instance('c', uuid=clouds.a_uuid(78))])
        spec = a_request(policy, members=[OLD])
        spec.instance_group.hosts = None

        assert picks(cloud.driver(), spec, UUIDS[:2]) == found
