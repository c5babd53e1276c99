"""Request filters with Neutron and Placement over HTTP."""

import time
import types

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import request_filter
from nova_sched.scheduler.client import report
from tests.builders import http_neutron
from tests.builders import http_placement
from tests.builders.facts import an_aggregate
from tests.builders.facts import required
from tests.builders.http_server import Answer
from tests.builders.requests import a_request

ROUTED = {'query_placement_for_routed_network_aggregates': True}
NET, SUB, PORT = (f'{digit * 8}-0000-4000-8000-000000000001'
                  for digit in '123')


@pytest.fixture
def neutron():
    with http_neutron.neutron() as server:
        yield server


@pytest.fixture
def placement():
    """A Placement that knows the segment s1, in the aggregates a1 and b1."""
    with http_placement.placement() as server:
        server.on('GET', '/resource_providers/', http_placement.error(404))
        server.on('GET', '/resource_providers/s1/aggregates', Answer(body={
            'aggregates': ['a1', 'b1'], 'resource_provider_generation': 1}))
        yield server


@pytest.fixture
def hosts():
    """A stand-in for a host manager."""
    return types.SimpleNamespace(
        aggregates=lambda: [an_aggregate(
            'z1', availability_zone='z', trait__X='required')],
        oldest_compute=lambda: 73)


@pytest.fixture
def edited(neutron, placement, hosts, tmp_path):
    """Function: a request after the filters.

    options: of [scheduler].  kwargs: another host_manager, or clock.
    """
    def edited(spec_obj, options=None, **kwargs):
        conf = http_neutron.a_conf(
            tmp_path, scheduler=options or {}, neutron={
                'auth_type': 'admin_token', 'token': 'token-of-the-service',
                'endpoint': neutron.url},
            placement={'auth_type': 'none', 'endpoint': placement.url})
        return request_filter.RequestFilters(
            conf, kwargs.get('host_manager', hosts),
            report.SchedulerReportClient(conf),
            kwargs.get('clock', time.monotonic)).apply(
                http_neutron.a_context(neutron.url), spec_obj)
    return edited


def a_request_for(**network):
    return a_request(requested_networks=objects.NetworkRequestList(
        objects=[objects.NetworkRequest(**network)]))


def test_the_callers_request_is_not_changed(edited):
    spec = a_request(availability_zone='z', requested_destination=(
        objects.Destination(aggregates=['a'])), requested_resources=[
            objects.RequestGroup(requester_id='g')])
    before = spec.obj_to_primitive()

    found = edited(spec, {'enable_isolated_aggregate_filtering': True})

    assert found.requested_destination.aggregates == ['a', 'z1']
    assert found.requested_destination.forbidden_aggregates == {'z1'}
    assert required(found) == set()
    assert spec.obj_to_primitive() == before


@pytest.mark.parametrize(('zone', 'option', 'reads'), [
    ('z', True, [[]]), (None, False, [])])
def test_aggregates_are_read_once_at_need(edited, hosts, zone, option, reads):
    hosts.aggregates = iter(reads).__next__

    assert edited(a_request(availability_zone=zone), dict.fromkeys((
        'limit_tenants_to_placement_aggregate',
        'enable_isolated_aggregate_filtering'), option))


def test_a_failed_filter_is_no_valid_host_with_its_reason(edited):
    with pytest.raises(exception.NoValidHost) as caught:
        edited(a_request(), {
            'limit_tenants_to_placement_aggregate': True,
            'placement_aggregate_required_for_tenants': True})

    assert str(caught.value) == ('No valid host was found. Scheduling '
                                 'failed: No hosts available for tenant')
    assert {caught.value.for_caller(text).kwargs['reason']
            for text in ('nova', 'filters', 'full')} == {
        'Scheduling failed: No hosts available for tenant'}


def test_driver_without_hosts_gets_no_aggregates(edited):
    found = edited(a_request(availability_zone='z'), host_manager=None)

    assert found.requested_destination is None
    assert not found.request_level_params.root_required


class TestNetworks:
    def test_bring_aggregates_of_segments(self, edited, neutron, placement):
        """Each segment is queried once, with its own microversion."""
        neutron.on('GET', '/v2.0/subnets?', http_neutron.subnets(
            's1', None, 's1'))

        found = edited(a_request_for(network_id=NET), ROUTED)

        assert found.requested_destination.aggregates == ['a1,b1']
        [asked] = placement.asked
        assert asked.path == '/resource_providers/s1/aggregates'
        assert asked.version == 'placement 1.19'
        assert asked.headers['X-Openstack-Request-Id'] == (
            http_neutron.REQUEST_ID)

    def test_and_ports_are_read_once_for_all_filters(self, edited, neutron):
        neutron.on('GET', '/v2.0/ports/', http_neutron.a_port(
            NET, SUB, **{'binding:vnic_type': 'remote-managed'}))
        neutron.on('GET', '/v2.0/subnets/', http_neutron.a_subnet(
            segment_id='s1'))

        found = edited(a_request_for(port_id=PORT), ROUTED)

        assert found.requested_destination.aggregates == ['a1,b1']
        assert required(found) == {'COMPUTE_REMOTE_MANAGED_PORTS'}
        assert len(neutron.to('GET', '/v2.0/ports/')) == 1

    @pytest.mark.parametrize('network', [
        {}, {'network_id': NET}, {'network_id': 'auto'}])
    def test_without_port_do_not_query_neutron(self, edited, neutron, network):
        edited(a_request_for(**network))

        assert not neutron.connections

    @pytest.mark.parametrize(('subnets', 'aggregates'), [
        (http_neutron.subnets('s1'), Answer(body={'aggregates': []})),
        (http_neutron.subnets('s1'), Answer(401)),
        (http_neutron.error(500), Answer(401))])
    def test_without_aggregates_have_no_host(
            self, edited, neutron, placement, subnets, aggregates):
        neutron.on('GET', '/v2.0/subnets?', subnets)
        placement.on('GET', '/resource_providers/s1/aggregates', aggregates)

        with pytest.raises(exception.NoValidHost) as caught:
            edited(a_request_for(network_id=NET), ROUTED)

        assert str(caught.value) == (
            'No valid host was found. Scheduling failed: Aggregates not '
            f'found for the network {NET}')

    def test_with_unknown_segments_fail(self, edited, neutron, caplog):
        neutron.on('GET', '/v2.0/subnets?', http_neutron.subnets('s9'))

        with pytest.raises(
                exception.ResourceProviderAggregateRetrievalFailed) as caught:
            edited(a_request_for(network_id=NET), ROUTED)

        assert str(caught.value) == (
            'Failed to get aggregates for resource provider with UUID s9')
        assert 'Got 404' in caplog.text

    @pytest.mark.parametrize('seconds', [45, 46])
    def test_are_given_up_when_the_time_is_over(
            self, edited, neutron, placement, caplog, seconds):
        """The time of Neutron and Placement together."""
        now = [0]

        def late(asked):
            now[0] = seconds
            return http_neutron.subnets('s1')

        neutron.on('GET', '/v2.0/subnets?', late)

        with pytest.raises(exception.NoValidHost):
            edited(a_request_for(network_id=NET), ROUTED, clock=lambda: now[0])

        assert not placement.asked
        assert 'took too long' in caplog.text

    def test_with_an_unknown_port_fail(self, edited):
        with pytest.raises(exception.PortNotFound) as caught:
            edited(a_request_for(port_id=PORT))

        assert type(caught.value).__module__ == 'nova.exception'
        assert PORT in str(caught.value)
