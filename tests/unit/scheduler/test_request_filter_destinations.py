"""Request filters that choose aggregates, by metadata and by networks."""

import logging

import pytest

from nova_sched import exception
from nova_sched import objects
from tests.builders.facts import Facts
from tests.builders.facts import a_port
from tests.builders.facts import an_aggregate
from tests.builders.facts import filtered
from tests.builders.facts import required
from tests.builders.requests import a_request

LIMIT = 'limit_tenants_to_placement_aggregate'
REQUIRE = 'placement_aggregate_required_for_tenants'
ISOLATE = 'enable_isolated_aggregate_filtering'


def destination(*on, known, **request):
    return filtered(a_request(**request), *on,
                    known=known).requested_destination


class TestTenant:
    KNOWN = (
        an_aggregate('exact', filter_tenant_id='p', other='x'),
        an_aggregate('longer', filter_tenant_id_2='p'),
        an_aggregate('prefix', filter_tenant_identity='p'),
        an_aggregate('listed', filter_tenant_id='p,q'),
        an_aggregate('blank', filter_tenant_id=' p'),
        an_aggregate('shorter', filter_tenant='p'),
        an_aggregate('without'))

    def test_goes_to_any_of_its_aggregates(self, caplog):
        """Any key with the prefix may hold the id."""
        caplog.set_level(logging.DEBUG)
        found = destination(LIMIT, known=self.KNOWN, project_id=b'p'.decode())

        assert found.aggregates == ['exact,longer,prefix']
        assert ('require_tenant_aggregate request filter added aggregates '
                "exact,longer,prefix for tenant 'p'") in caplog.text

    @pytest.mark.parametrize(('on', 'project_id', 'is_limited'), [
        ((), 'p', False), ((LIMIT,), 'r', False), ((REQUIRE,), 'r', False),
        ((LIMIT, REQUIRE), 'p', True)])
    def test_is_limited_by_option(self, on, project_id, is_limited):
        assert (destination(*on, known=self.KNOWN, project_id=project_id)
                is not None) == is_limited

    def test_without_aggregates_is_refused_if_one_is_required(self, caplog):
        with pytest.raises(exception.RequestFilterFailed) as caught:
            destination(LIMIT, REQUIRE, known=self.KNOWN, project_id='r')

        assert str(caught.value) == (
            'Scheduling failed: No hosts available for tenant')
        assert 'Tenant r has no available aggregates' in caplog.text


class TestZone:
    KNOWN = (an_aggregate('z1', availability_zone='z'),
             an_aggregate('z2', availability_zone='z'),
             an_aggregate('both', availability_zone='z,y'),
             an_aggregate('without'))

    def test_sends_to_any_of_its_aggregates(self, caplog):
        """With no option."""
        caplog.set_level(logging.DEBUG)
        found = destination(known=self.KNOWN, availability_zone='z')

        assert found.aggregates == ['z1,z2']
        assert ('map_az_to_placement_aggregate request filter added '
                "aggregates z1,z2 for az 'z'") in caplog.text

    @pytest.mark.parametrize('zone', [None, '', 'nova'])
    def test_without_an_aggregate_requires_nothing(self, zone):
        assert destination(known=self.KNOWN, availability_zone=zone) is None

    def test_is_required_besides_the_tenants_aggregate(self):
        found = destination(LIMIT, known=(*self.KNOWN, *TestTenant.KNOWN),
                            availability_zone='z', project_id='p')

        assert found.aggregates == ['exact,longer,prefix', 'z1,z2']

    def test_is_required_besides_aggregates_of_the_request(self):
        found = destination(
            known=self.KNOWN, availability_zone='z', requested_destination=(
                objects.Destination(host='h', aggregates=['a,b'])))

        assert found.host == 'h'
        assert found.aggregates == ['a,b', 'z1,z2']

    def test_ignores_aggregates_without_a_uuid(self):
        """Placement does not know it."""
        assert destination(
            known=[objects.Aggregate(metadata={'availability_zone': 'z'})],
            availability_zone='z') is None


class TestIsolation:
    KNOWN = (
        an_aggregate('a', trait__CUSTOM_A='required'),
        an_aggregate('ab', trait__CUSTOM_A='required',
                     trait__CUSTOM_B='required'),
        an_aggregate('loud', trait__CUSTOM_C='Required'),
        an_aggregate('never', trait__CUSTOM_C='forbidden'),
        an_aggregate('numbered', trait1__CUSTOM_C='required'),
        an_aggregate('without', other='required'))

    @pytest.mark.parametrize(('specs', 'traits', 'forbidden'), [
        ({}, [], {'a', 'ab'}),
        ({'trait:CUSTOM_A': 'required'}, [], {'ab'}),
        ({'trait1:CUSTOM_A': 'required'}, [], {'ab'}),
        ({'trait:CUSTOM_A': 'forbidden'}, [], {'a', 'ab'}),
        ({}, ['CUSTOM_A'], {'ab'}),
        ({'trait:CUSTOM_A': 'required'}, ['CUSTOM_B'], None)])
    def test_forbids_aggregates_whose_traits_are_not_required(
            self, specs, traits, forbidden):
        """By flavor or image."""
        properties = {'traits_required': traits} if traits else {}
        found = destination(ISOLATE, known=self.KNOWN, extra_specs=specs,
                            image_properties=properties)

        assert (found and found.forbidden_aggregates) == forbidden

    def test_is_off_by_default(self):
        assert destination(known=self.KNOWN) is None

    def test_is_forbidden_besides_aggregates_of_the_request(self):
        found = destination(
            ISOLATE, known=self.KNOWN, requested_destination=(
                objects.Destination(forbidden_aggregates={'x'})))

        assert found.forbidden_aggregates == {'x', 'a', 'ab'}

    def test_accepts_requests_without_an_image(self):
        assert destination(ISOLATE, known=self.KNOWN, image=None)


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
    def test_are_reached_from_segments_aggregates(self, cloud, caplog):
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

    def test_count_by_the_subnet_of_port_with_address(self, cloud, caplog):
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
