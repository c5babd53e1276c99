"""A scripted Neutron over HTTP."""

import contextlib
import pathlib

from nova_sched import conf as config
from nova_sched import context
from tests.builders import http_server
from tests.builders.http_server import Answer

TOKEN = 'token-of-the-caller'
REQUEST_ID = 'req-0af04c2f-6a2b-4a57-9d0e-2f3c6f0d7c11'


@contextlib.contextmanager
def neutron():
    """A Server with the segments extension, without ports and subnets."""
    with http_server.Server().running() as server:
        server.on('GET', '/v2.0/extensions', extensions('router', 'segment'))
        server.on('GET', '/v2.0/subnets?', subnets())
        server.on('GET', '/v2.0/subnets/', error(404, 'SubnetNotFound'))
        server.on('GET', '/v2.0/ports/', error(404, 'PortNotFound'))
        yield server


def a_conf(directory, **sections):
    """A ConfigOpts; sections: name -> dict of options."""
    path = pathlib.Path(directory) / 'neutron-client.conf'
    path.write_text(''.join(
        f'[{section}]\n' + ''.join(
            f'{name} = {value}\n' for name, value in options.items())
        for section, options in sections.items()))
    return config.new_conf([], [str(path)])


def a_context(url=None, **kwargs):
    """The context of a request; url: of Neutron, in its catalog."""
    return context.RequestContext(**{
        'request_id': REQUEST_ID, 'user_id': 'u', 'project_id': 'p',
        'auth_token': TOKEN, 'overwrite': False,
        'service_catalog': [a_service(url)] if url else [], **kwargs})


def a_service(url, interface='internalURL', region='RegionOne'):
    """Neutron's entry in the catalog of a context."""
    return {'type': 'network', 'name': 'neutron',
            'endpoints': [{'region': region, interface: url}]}


def a_port(network_id='net', subnet_id=None, **fields):
    """A port, with an address of a subnet if subnet_id is given."""
    fixed = [{'subnet_id': subnet_id, 'ip_address': '10.1.0.5'}]
    return Answer(body={'port': {
        'id': 'port', 'network_id': network_id, 'status': 'DOWN',
        'fixed_ips': fixed if subnet_id else [], **fields}})


def extensions(*aliases):
    """The list of extensions."""
    return Answer(body={'extensions': [
        {'alias': alias, 'name': alias, 'links': []} for alias in aliases]})


def subnets(*segments, following=None):
    """Subnets on these segments, or None; following: the next page's URL."""
    body = {'subnets': [{'segment_id': segment} for segment in segments]}
    if following:
        body['subnets_links'] = [
            {'rel': 'previous', 'href': 'http://elsewhere'},
            {'rel': 'next', 'href': following}]
    return Answer(body=body)


def a_subnet(**fields):
    """One subnet."""
    return Answer(body={'subnet': {'id': 'sub', 'network_id': 'net',
                                   **fields}})


def error(status, kind='Error', message='It did not work.'):
    """An error in Neutron's form."""
    return Answer(status, {'NeutronError': {
        'type': kind, 'message': message, 'detail': ''}})
