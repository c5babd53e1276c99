"""Request filters that query networks and ports."""

import logging

import pytest

from nova_sched import exception
from nova_sched import objects
from tests.builders.facts import Facts
from tests.builders.facts import a_port
from tests.builders.facts import filtered
from tests.builders.facts import required
from tests.builders.requests import a_request

ROUTED = 'query_placement_for_routed_network_aggregates'


def a_request_for(*networks, **request):
    """A RequestSpec; networks: dicts of fields of NetworkRequest."""
    return a_request(requested_networks=objects.NetworkRequestList(objects=[
        objects.NetworkRequest(**fields) for fields in networks]), **request)


def aggregates(facts, *networks, **request):
    """The aggregates required of the destination: list, or None."""
    spec = filtered(a_request_for(*networks, **request), ROUTED, given=facts)
    wanted = spec.requested_destination
    return wanted and wanted.aggregates


@pytest.fixture
def cloud():
    """A network on two segments, a flat one, and a port on a third one."""
    return Facts(
        networks={'routed': ['s1', 's2'], 'flat': []},
        subnets={'sub': ['s3'], 'flat-sub': []},
        segments={'s1': ['a1'], 's2': ['a2', 'b2'], 's3': ['a3']},
        ports={'fixed': a_port('routed', 'sub'), 'fresh': a_port('routed'),
               'flat': a_port('flat', 'flat-sub'), 'lost': a_port()})


class TestRoutedNetworks:
    def test_are_reached_from_the_aggregates_of_their_segments(self, cloud,
                                                               caplog):
        caplog.set_level(logging.DEBUG)

        assert aggregates(cloud, {'network_id': 'routed'}) == ['a1,a2,b2']
        assert ('routed_networks_filter request filter added the following '
                'aggregates for network ID routed: a1, a2, b2') in caplog.text

    @pytest.mark.parametrize(('networks', 'expected'), [
        ([{'port_id': 'fresh'}], ['a1,a2,b2']),
        ([{'network_id': 'routed'}, {'port_id': 'fixed'}],
         ['a1,a2,b2', 'a3']),
        ([{'network_id': 'flat'}], None), ([{'port_id': 'flat'}], None),
        # A port without a network, and no network at all.
        ([{'port_id': 'lost'}], None), ([], None)])
    def test_require_one_entry_a_network(self, cloud, networks, expected):
        assert aggregates(cloud, *networks) == expected
        assert aggregates(
            cloud, *networks, requested_destination=objects.Destination(
                aggregates=['x'])) == ['x', *(expected or ())]

    def test_are_not_queried_without_need(self, cloud):
        filtered(a_request_for({'network_id': 'routed'}), given=cloud)
        filtered(a_request(), ROUTED, given=cloud)

        assert not cloud.asked

    def test_count_by_the_subnet_of_a_port_with_an_address(self, cloud,
                                                           caplog):
        caplog.set_level(logging.DEBUG)

        assert aggregates(cloud, {'port_id': 'fixed',
                                  'network_id': 'routed'}) == ['a3']
        assert 'for network ID None: a3' in caplog.text

    def test_are_named_once_where_subnets_share_segments(self, cloud):
        cloud.networks['routed'] = ['s1', 's2', 's1']
        cloud.segments['s2'] = ['a2', 'a1']

        assert aggregates(cloud, {'network_id': 'routed'}) == ['a1,a2']

    @pytest.mark.parametrize('wanted', [
        {}, {'network_id': None, 'port_id': None}, {'network_id': 'auto'},
        {'network_id': 'none'}])
    def test_without_an_id_are_not_queried(self, cloud, wanted):
        assert not aggregates(cloud, wanted, {'network_id': 'flat'})
        assert cloud.asked == [('networks', 'flat')]

    @pytest.mark.parametrize('change', [
        lambda cloud: cloud.segments.update(s2=None, s3=None),
        lambda cloud: cloud.segments.update(s2=[], s3=[]),
        lambda cloud: (cloud.networks.update(routed=None),
                       cloud.subnets.update(sub=None))])
    @pytest.mark.parametrize(('wanted', 'where'), [
        ({'network_id': 'routed'}, 'network routed'),
        ({'port_id': 'fresh'}, 'network routed'),
        ({'port_id': 'fixed'}, 'subnet sub')])
    def test_without_aggregates_of_segments_fail_the_request(
            self, cloud, wanted, where, change):
        change(cloud)
        with pytest.raises(exception.RequestFilterFailed) as caught:
            aggregates(cloud, wanted)

        assert str(caught.value) == (
            f'Scheduling failed: Aggregates not found for the {where}')


class TestRemoteManagedPorts:
    def test_require_a_host_that_has_them(self, caplog):
        """With no option; a line for each."""
        caplog.set_level(logging.DEBUG)
        ports = {name: a_port(vnic_type='remote-managed') for name in 'ab'}

        assert required(filtered(
            a_request_for({'port_id': 'a'}, {'port_id': 'b'}),
            ports=ports)) == {'COMPUTE_REMOTE_MANAGED_PORTS'}
        assert caplog.text.count(
            'remote_managed_ports_filter request filter added trait '
            'COMPUTE_REMOTE_MANAGED_PORTS') == 2

    @pytest.mark.parametrize('kind', ['normal', 'direct', 'Remote-managed'])
    def test_are_of_one_vnic_type(self, kind):
        assert not required(filtered(
            a_request_for({'port_id': 'a'}),
            ports={'a': a_port(vnic_type=kind)}))

    def test_are_not_queried_without_a_port(self):
        """So clouds without Neutron need none."""
        facts = Facts()
        filtered(a_request_for({'network_id': 'net'}), given=facts)
        filtered(a_request(), given=facts)

        assert not facts.asked
