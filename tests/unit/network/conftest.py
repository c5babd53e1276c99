"""A Neutron over HTTP, and readers of it."""

import contextlib

import pytest

from nova_sched.network.neutron import Neutron
from tests.builders import http_keystone
from tests.builders import http_neutron
from tests.builders.http_keystone import an_endpoint


@pytest.fixture
def neutron():
    """A Server that simulates Neutron."""
    with http_neutron.neutron() as server:
        yield server


@pytest.fixture
def keystone():
    """Function of endpoints that starts a Keystone with this catalog."""
    with contextlib.ExitStack() as stack:
        yield lambda *endpoints: stack.enter_context(
            http_keystone.keystone(*endpoints))


@pytest.fixture
def naps():
    """The seconds of readers before retries: a list."""
    return []


@pytest.fixture
def reader(neutron, tmp_path, naps):
    """Function that makes a Reader.

    context: by default of a user, with Neutron in the catalog.
    options: of [neutron]; by default with a token of the service.
    others: further sections.  kwargs: of network.neutron.Neutron.
    """
    def make(context=None, options=None, others=None, **kwargs):
        conf = http_neutron.a_conf(tmp_path, neutron={
            'auth_type': 'admin_token', 'token': 'token-of-the-service',
            'endpoint': neutron.url} if options is None else options,
            **others or {})
        kwargs.setdefault('sleep', naps.append)
        return Neutron(conf, **kwargs).reader(
            context or http_neutron.a_context(neutron.url))
    return make


@pytest.fixture
def by_password(keystone, neutron):
    """Options of [neutron] that log in to a Keystone by password."""
    server = keystone(an_endpoint(neutron.url, service_type='network'))
    return {'auth_type': 'password', 'auth_url': server.url,
            **http_keystone.USER}
