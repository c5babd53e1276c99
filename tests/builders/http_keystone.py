"""A Keystone over HTTP, which returns tokens with a catalog."""

import contextlib

from tests.builders import http_server
from tests.builders.http_server import Answer

PASSWORD = 'open-sesame'
TOKEN = 'token-of-the-service'
TOKENS = '/v3/auth/tokens'
USER = {'username': 'nova-sched', 'password': PASSWORD,
        'project_name': 'service', 'user_domain_name': 'Default',
        'project_domain_name': 'Default'}


@contextlib.contextmanager
def keystone(*endpoints, tls=False):
    """A Server; endpoints: an_endpoint of the catalog."""
    with http_server.Server(tls).running() as server:
        server.on('GET', '/v3', Answer(body={'version': {
            'id': 'v3.14', 'status': 'stable',
            'links': [{'rel': 'self', 'href': f'{server.url}/v3/'}]}}))
        server.on('GET', '/', Answer(300, {'versions': {'values': [{
            'id': 'v3.14', 'status': 'stable', 'links': [
                {'rel': 'self', 'href': f'{server.url}/v3/'}]}]}}))
        set_catalog(server, *endpoints)
        yield server


def set_catalog(server, *endpoints, token=TOKEN):
    """Return tokens with this catalog from now on."""
    server.on('POST', TOKENS, a_token(*endpoints, token=token))


def an_endpoint(url, interface='internal', region='RegionOne',
                service_type='placement'):
    """(service type, endpoint) of a catalog."""
    return service_type, {'id': f'{url}-{interface}', 'url': url,
                          'interface': interface, 'region': region,
                          'region_id': region}


def a_token(*endpoints, token=TOKEN):
    """The answer to a log-in."""
    catalog = [{'type': service_type, 'name': service_type,
                'id': service_type, 'endpoints': [endpoint]}
               for service_type, endpoint in endpoints]
    return Answer(201, {'token': {
        'methods': ['password'], 'catalog': catalog,
        'expires_at': '2999-01-01T00:00:00.000000Z',
        'issued_at': '2026-01-01T00:00:00.000000Z',
        'user': {'id': 'u', 'name': 'nova-sched',
                 'domain': {'id': 'default', 'name': 'Default'}},
        'project': {'id': 'p', 'name': 'service',
                    'domain': {'id': 'default', 'name': 'Default'}},
        'roles': [{'id': 'r', 'name': 'service'}]}},
        {'X-Subject-Token': token})


#: The answer to a wrong password.
REFUSED = Answer(401, {'error': {
    'code': 401, 'title': 'Unauthorized',
    'message': 'The request you have made requires authentication.'}})
