"""A changed endpoint of Neutron in the catalog of Keystone."""

import pytest

from nova_sched import exception
from tests.builders import http_keystone
from tests.builders import http_neutron
from tests.builders.http_keystone import TOKENS
from tests.builders.http_keystone import an_endpoint
from tests.builders.http_keystone import set_catalog
from tests.builders.http_neutron import a_context
from tests.builders.http_neutron import a_port
from tests.builders.http_neutron import error
from tests.builders.http_server import DROP
from tests.builders.http_server import Answer

#: Possible answers at the old address of Neutron.
LEFTOVERS = (
    DROP, Answer(404, '<html>Not found</html>'), Answer(503),
    error(404, 'HTTPNotFound', 'The resource could not be found.'),
    Answer(200, '<html>It works!</html>'))


@pytest.fixture
def new():
    """The Server at the new address; its network has a segment."""
    with http_neutron.neutron() as server:
        server.on('GET', '/v2.0/subnets?', http_neutron.subnets('s1'))
        server.on('GET', '/v2.0/ports/', a_port('net-at-new'))
        yield server


@pytest.fixture
def server(keystone, neutron):
    """A Keystone with the old address in its catalog."""
    return keystone(an_endpoint(neutron.url, service_type='network'))


@pytest.fixture
def asking(server, reader):
    """A Reader with password credentials."""
    return reader(options={
        'auth_type': 'password', 'auth_url': server.url,
        'extension_sync_interval': 0, **http_keystone.USER})


@pytest.mark.parametrize('answer', LEFTOVERS)
def test_segments_are_read_at_the_new_endpoint(asking, server, neutron, new,
                                               answer):
    assert asking.segments_of_network('net') == []
    set_catalog(server, an_endpoint(new.url, service_type='network'))
    for path in ('/v2.0/extensions', '/v2.0/subnets?'):
        neutron.on('GET', path, answer)

    assert asking.segments_of_network('net') == ['s1']
    assert len(server.to('POST', TOKENS)) == 2


@pytest.mark.parametrize('answer', [
    error(404, 'SubnetNotFound'), error(500), error(403)])
def test_error_of_neutron_itself_causes_no_log_in(asking, server, neutron,
                                                      answer):
    assert asking.knows_segments('network net')
    neutron.on('GET', '/v2.0/subnets/', answer)

    try:
        assert asking.segments_of_subnet('sub') is None
    except exception.Forbidden:
        assert answer.status == 403
    assert len(server.to('POST', TOKENS)) == 1


class TestPort:
    """Ports are read at the endpoint in the caller's catalog."""

    def test_is_read_at_the_endpoint_of_each_request(self, neutron, reader,
                                                     new):
        neutron.on('GET', '/v2.0/ports/', a_port('net-at-old'))
        asking = reader(options={})

        assert asking.port('id').network_id == 'net-at-old'
        asking = asking._neutron.reader(a_context(new.url))
        assert asking.port('id').network_id == 'net-at-new'

    @pytest.mark.parametrize('answer', LEFTOVERS)
    def test_at_an_old_endpoint_causes_no_log_in(self, asking, server,
                                                 neutron, answer):
        assert asking.segments_of_network('net') == []
        neutron.on('GET', '/v2.0/ports/', answer)

        with pytest.raises(exception.NovaException):
            asking.port('id')
        assert len(server.to('POST', TOKENS)) == 1

    def test_is_read_with_the_same_token_of_service_user(
            self, server, neutron, reader, new):
        neutron.on('GET', '/v2.0/ports/', Answer(503))
        asking = reader(options={}, others={'service_user': {
            'send_service_user_token': True, 'auth_type': 'password',
            'auth_url': server.url, **http_keystone.USER}})
        with pytest.raises(exception.NovaException):
            asking.port('id')

        asking = asking._neutron.reader(a_context(new.url))
        assert asking.port('id').network_id == 'net-at-new'
        assert new.asked[0].headers['X-Service-Token'] == http_keystone.TOKEN
        assert len(server.to('POST', TOKENS)) == 1
