"""Requests to Neutron, and the values read from its responses."""

import pytest

from tests.builders import http_neutron
from tests.builders.http_neutron import a_context
from tests.builders.http_neutron import a_port
from tests.builders.http_neutron import a_subnet
from tests.builders.http_neutron import subnets

PORT = '11111111-0000-4000-8000-000000000001'


class TestPort:
    def test_is_read_by_its_id_with_the_callers_token(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader().port(PORT)

        [asked] = neutron.asked
        assert asked.path == f'/v2.0/ports/{PORT}'
        assert asked.headers['X-Auth-Token'] == http_neutron.TOKEN
        assert asked.headers['Accept'] == 'application/json'
        assert 'X-Service-Token' not in asked.headers

    def test_is_read_once_per_request(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())
        asking = reader()

        assert asking.port(PORT) is asking.port(PORT)
        assert len(neutron.asked) == 1

    def test_is_read_at_the_region_and_interface_of_neutron_options(
            self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())
        catalog = [
            http_neutron.a_service('http://127.0.0.1:9', region='One'),
            http_neutron.a_service('http://127.0.0.1:9', 'publicURL', 'Two'),
            http_neutron.a_service(neutron.url, 'adminURL', 'Two')]

        assert reader(a_context(service_catalog=catalog), {
            'region_name': 'Two', 'valid_interfaces': 'admin'}).port(PORT)

    def test_is_read_by_a_catalog_of_keystone_v3(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())
        catalog = [{'type': 'network', 'name': 'neutron', 'endpoints': [{
            'interface': 'public', 'url': neutron.url,
            'region': 'RegionOne', 'region_id': 'RegionOne'}]}]

        assert reader(a_context(service_catalog=catalog), {}).port(PORT)

    def test_is_read_at_the_endpoint_override(self, neutron, reader):
        neutron.on('GET', '/networking/v2.0/ports/', a_port())

        assert reader(a_context(), {
            'endpoint_override': f'{neutron.url}/networking'}).port(PORT)

    def test_is_read_by_the_service_for_an_administrator_without_token(
            self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader(a_context(auth_token=None, is_admin=True)).port(PORT)

        [asked] = neutron.asked
        assert asked.headers['X-Auth-Token'] == 'token-of-the-service'

    def test_id_is_quoted(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader().port('a/../b?c')

        assert neutron.asked[0].path == '/v2.0/ports/a%2F..%2Fb%3Fc'


@pytest.mark.parametrize(('ids', 'sent'), [
    ({}, http_neutron.REQUEST_ID),
    ({'global_request_id': 'req-91d6d1a4-51d5-4c68-8a5c-7d2a0f1b9e02'},
     'req-91d6d1a4-51d5-4c68-8a5c-7d2a0f1b9e02')])
def test_request_id_is_sent_preferably_the_global_one(
        neutron, reader, ids, sent):
    neutron.on('GET', '/v2.0/ports/', a_port())

    reader(a_context(neutron.url, **ids)).port(PORT)

    assert neutron.asked[0].headers['X-Openstack-Request-Id'] == sent


class TestSegmentsOfNetwork:
    def test_are_read_from_its_subnets_by_the_service(self, neutron, reader):
        """Neutron shows them to administrators only."""
        neutron.on('GET', '/v2.0/subnets?', subnets('s1', None, 's2', 's1'))

        assert reader().segments_of_network('net') == ['s1', 's2', 's1']
        [asked] = neutron.to('GET', '/v2.0/subnets')
        assert asked.path == ('/v2.0/subnets?network_id=net&fields=segment_id')
        assert {asked.headers['X-Auth-Token'] for asked in neutron.asked
                } == {'token-of-the-service'}

    def test_may_come_in_pages(self, neutron, reader):
        """Only the query of the next page's address is used."""
        neutron.on('GET', '/v2.0/subnets?', subnets(
            's1', following='http://10.9.9.9:1/v2.0/subnets?marker=a&limit=1'
        ), subnets('s2'))

        assert reader().segments_of_network('net') == ['s1', 's2']
        assert neutron.asked[-1].path == '/v2.0/subnets?marker=a&limit=1'


def test_segment_of_a_subnet_is_read_by_the_service(neutron, reader):
    neutron.on('GET', '/v2.0/subnets/sub', a_subnet(segment_id='s1'))

    assert reader().segments_of_subnet('sub') == ['s1']
    assert neutron.asked[-1].headers['X-Auth-Token'] == (
        'token-of-the-service')


@pytest.mark.parametrize('method', ['segments_of_network',
                                    'segments_of_subnet'])
def test_neutron_without_the_extension_has_no_segments(
        neutron, reader, method):
    neutron.on('GET', '/v2.0/extensions', http_neutron.extensions('router'))

    assert getattr(reader(), method)('id') == []
    assert not neutron.to('GET', '/v2.0/subnets')


class TestExtensions:
    @pytest.mark.parametrize(('interval', 'times'), [(600, 1), (0, 3)])
    def test_are_read_once_per_request_or_each_time(self, neutron, reader,
                                                  interval, times):
        asking = reader(options={
            'auth_type': 'none', 'endpoint': neutron.url,
            'extension_sync_interval': interval})
        for network in 'abc':
            asking.segments_of_network(network)

        assert len(neutron.to('GET', '/v2.0/extensions')) == times

    def test_are_read_again_after_the_interval(self, neutron, reader):
        now = [0]
        asking = reader(clock=lambda: now[0], options={
            'auth_type': 'none', 'endpoint': neutron.url,
            'extension_sync_interval': 10})
        for now[0] in (0, 9, 10):
            asking.segments_of_network('net')

        assert len(neutron.to('GET', '/v2.0/extensions')) == 2
