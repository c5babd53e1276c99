"""What Neutron is asked, and what is made of its answers."""

import pytest

from tests.builders import http_neutron
from tests.builders.http_neutron import a_context
from tests.builders.http_neutron import a_port
from tests.builders.http_neutron import a_subnet
from tests.builders.http_neutron import subnets

PORT = '11111111-0000-4000-8000-000000000001'


class TestPort:
    def test_is_read_by_its_id_with_the_token_of_the_caller(self, neutron,
                                                            reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader().port(PORT)

        [asked] = neutron.asked
        assert asked.path == f'/v2.0/ports/{PORT}'
        assert asked.headers['X-Auth-Token'] == http_neutron.TOKEN
        assert asked.headers['Accept'] == 'application/json'
        assert 'X-Service-Token' not in asked.headers

    def test_is_read_once_a_request(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())
        asking = reader()

        assert asking.port(PORT) is asking.port(PORT)
        assert len(neutron.asked) == 1

    def test_has_a_network_a_subnet_and_a_type(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port(
            'net', 'sub', **{'binding:vnic_type': 'remote-managed'}))

        assert reader().port(PORT) == ('net', 'sub', 'remote-managed')

    @pytest.mark.parametrize('type_', [{}, {'binding:vnic_type': None}])
    def test_is_normal_unless_it_says_so(self, neutron, reader, type_):
        neutron.on('GET', '/v2.0/ports/', a_port('net', **type_))

        assert reader().port(PORT) == ('net', None, 'normal')

    def test_counts_by_the_first_of_its_addresses(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port(fixed_ips=[
            {'subnet_id': 'first'}, {'subnet_id': 'second'}]))

        assert reader().port(PORT).subnet_id == 'first'

    def test_needs_no_log_in_of_the_service(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        assert reader(options={}).port(PORT)

    def test_is_looked_for_at_the_endpoint_of_the_callers_catalog(
            self, neutron, reader):
        """In the region and at the interfaces of [neutron]."""
        neutron.on('GET', '/v2.0/ports/', a_port())
        catalog = [
            http_neutron.a_service('http://127.0.0.1:9', region='One'),
            http_neutron.a_service('http://127.0.0.1:9', 'publicURL', 'Two'),
            http_neutron.a_service(neutron.url, 'adminURL', 'Two')]

        assert reader(a_context(service_catalog=catalog), {
            'region_name': 'Two', 'valid_interfaces': 'admin'}).port(PORT)

    def test_is_looked_for_in_a_catalog_of_keystone_v3_too(self, neutron,
                                                           reader):
        neutron.on('GET', '/v2.0/ports/', a_port())
        catalog = [{'type': 'network', 'name': 'neutron', 'endpoints': [{
            'interface': 'public', 'url': neutron.url,
            'region': 'RegionOne', 'region_id': 'RegionOne'}]}]

        assert reader(a_context(service_catalog=catalog), {}).port(PORT)

    def test_is_looked_for_at_the_address_that_is_given_instead(
            self, neutron, reader):
        neutron.on('GET', '/networking/v2.0/ports/', a_port())

        assert reader(a_context(), {
            'endpoint_override': f'{neutron.url}/networking'}).port(PORT)

    def test_of_an_administrator_without_a_token_is_read_by_the_service(
            self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader(a_context(auth_token=None, is_admin=True)).port(PORT)

        [asked] = neutron.asked
        assert asked.headers['X-Auth-Token'] == 'token-of-the-service'

    def test_has_an_id_that_leads_nowhere_else(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader().port('a/../b?c')

        assert neutron.asked[0].path == '/v2.0/ports/a%2F..%2Fb%3Fc'


@pytest.mark.parametrize(('ids', 'told'), [
    ({}, http_neutron.REQUEST_ID),
    ({'global_request_id': 'req-91d6d1a4-51d5-4c68-8a5c-7d2a0f1b9e02'},
     'req-91d6d1a4-51d5-4c68-8a5c-7d2a0f1b9e02')])
def test_neutron_is_told_the_id_of_the_request(neutron, reader, ids, told):
    """The one that all services share, if there is one."""
    neutron.on('GET', '/v2.0/ports/', a_port())

    reader(a_context(neutron.url, **ids)).port(PORT)

    assert neutron.asked[0].headers['X-Openstack-Request-Id'] == told


class TestSegmentsOfANetwork:
    def test_are_those_of_its_subnets(self, neutron, reader):
        neutron.on('GET', '/v2.0/subnets?', subnets('s1', None, 's2', 's1'))

        assert reader().segments_of_network('net') == ['s1', 's2', 's1']
        [asked] = neutron.to('GET', '/v2.0/subnets')
        assert asked.path == (
            '/v2.0/subnets?network_id=net&fields=segment_id')

    def test_are_read_by_the_service(self, neutron, reader):
        """Neutron shows them to administrators only."""
        reader().segments_of_network('net')

        assert {asked.headers['X-Auth-Token'] for asked in neutron.asked
                } == {'token-of-the-service'}

    def test_are_none_without_subnets(self, reader):
        assert reader().segments_of_network('net') == []

    def test_may_come_in_pages(self, neutron, reader):
        """Where Neutron believes itself to be does not matter."""
        neutron.on('GET', '/v2.0/subnets?', subnets(
            's1', following='http://10.9.9.9:1/v2.0/subnets?marker=a&limit=1'
        ), subnets('s2'))

        assert reader().segments_of_network('net') == ['s1', 's2']
        assert neutron.asked[-1].path == '/v2.0/subnets?marker=a&limit=1'

    def test_are_none_in_a_neutron_that_has_no_segments(self, neutron,
                                                        reader):
        neutron.on('GET', '/v2.0/extensions',
                   http_neutron.extensions('router'))

        assert reader().segments_of_network('net') == []
        assert not neutron.to('GET', '/v2.0/subnets')


class TestSegmentOfASubnet:
    def test_is_its_own(self, neutron, reader):
        neutron.on('GET', '/v2.0/subnets/sub', a_subnet(segment_id='s1'))

        assert reader().segments_of_subnet('sub') == ['s1']
        assert neutron.asked[-1].headers['X-Auth-Token'] == (
            'token-of-the-service')

    @pytest.mark.parametrize('fields', [{}, {'segment_id': None}])
    def test_may_be_none(self, neutron, reader, fields):
        neutron.on('GET', '/v2.0/subnets/sub', a_subnet(**fields))

        assert reader().segments_of_subnet('sub') == []

    def test_is_none_in_a_neutron_that_has_no_segments(self, neutron,
                                                       reader):
        neutron.on('GET', '/v2.0/extensions', http_neutron.extensions())

        assert reader().segments_of_subnet('sub') == []
        assert not neutron.to('GET', '/v2.0/subnets')


class TestExtensions:
    @pytest.mark.parametrize(('interval', 'times'), [(600, 1), (0, 3)])
    def test_are_read_once_a_request_or_each_time(self, neutron, reader,
                                                  interval, times):
        asking = reader(options={
            'auth_type': 'none', 'endpoint': neutron.url,
            'extension_sync_interval': interval})
        for network in 'abc':
            asking.segments_of_network(network)

        assert len(neutron.to('GET', '/v2.0/extensions')) == times

    def test_are_read_again_when_they_are_old(self, neutron, reader):
        now = [0]
        asking = reader(clock=lambda: now[0], options={
            'auth_type': 'none', 'endpoint': neutron.url,
            'extension_sync_interval': 10})
        for now[0] in (0, 9, 10):
            asking.segments_of_network('net')

        assert len(neutron.to('GET', '/v2.0/extensions')) == 2
