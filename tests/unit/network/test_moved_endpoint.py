"""A changed endpoint of Neutron in the catalog of Keystone."""

import pytest

from nova_sched import exception
from tests.builders import http_keystone
from tests.builders import http_neutron
from tests.builders.http_keystone import TOKENS
from tests.builders.http_keystone import an_endpoint
from tests.builders.http_keystone import set_catalog
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
