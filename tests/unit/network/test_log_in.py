"""Tokens for Neutron: of the user, the service, and [service_user]."""

import logging

import pytest

from nova_sched import exception
from nova_sched.network import neutron as neutron_module
from tests.builders import http_keystone
from tests.builders import http_neutron
from tests.builders.http_keystone import PASSWORD
from tests.builders.http_neutron import a_port
from tests.builders.http_server import Answer

TOKENS = '/v3/auth/tokens'


@pytest.fixture
def service_user(keystone):
    """The Keystone and the section of [service_user]."""
    server = keystone()
    return server, {'service_user': {
        'send_service_user_token': True, 'auth_type': 'password',
        'auth_url': server.url, **http_keystone.USER}}


class TestServiceToken:
    def test_is_requested_once_and_sent_with_the_users(
            self, neutron, reader, service_user):
        neutron.on('GET', '/v2.0/ports/', a_port())
        keystone, section = service_user
        asking = reader(others=section)
        for port in 'abc':
            asking.port(port)

        for asked in neutron.asked:
            assert asked.headers['X-Auth-Token'] == http_neutron.TOKEN
            assert asked.headers['X-Service-Token'] == http_keystone.TOKEN
        assert len(keystone.to('POST', TOKENS)) == 1

    def test_is_not_sent_unless_configured(self, neutron, reader,
                                           service_user):
        neutron.on('GET', '/v2.0/ports/', a_port())
        keystone, section = service_user
        section['service_user']['send_service_user_token'] = False

        reader(others=section).port('id')

        assert 'X-Service-Token' not in neutron.asked[0].headers
        assert not keystone.asked

    def test_is_omitted_with_a_warning_without_credentials(
            self, neutron, reader, caplog):
        neutron.on('GET', '/v2.0/ports/', a_port())
        neutron_module._warn_of_no_service_token.cache_clear()
        asking = reader(others={'service_user': {
            'send_service_user_token': True}})
        for port in 'abc':
            asking.port(port)

        assert 'X-Service-Token' not in neutron.asked[0].headers
        assert caplog.text.count('No token of [service_user] is sent') == 1

    def test_refused_log_in_fails_the_read(self, reader, service_user):
        keystone, section = service_user
        keystone.on('POST', TOKENS, http_keystone.REFUSED)

        with pytest.raises(exception.NovaException) as caught:
            reader(others=section).port('id')

        assert str(caught.value).startswith(
            'Failed to access port id: Keystone refuses the credentials: ')
        assert '[service_user]' in str(caught.value)


@pytest.mark.parametrize('answer', [a_port(), Answer(401), Answer(500)])
def test_no_secret_is_logged(
        neutron, reader, by_password, service_user, caplog, answer):
    caplog.set_level(logging.DEBUG)
    neutron.on('GET', '/v2.0/ports/', answer)
    asking = reader(options=by_password, others=service_user[1])
    asking.segments_of_network('net')
    try:
        asking.port('id')
    except exception.RemoteNovaException as error:
        assert http_neutron.TOKEN not in str(error)

    for secret in (PASSWORD, http_keystone.TOKEN, http_neutron.TOKEN):
        assert secret not in caplog.text
