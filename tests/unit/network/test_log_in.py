"""As whom Neutron is asked: the user, the service, and who vouches."""

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
def vouching(keystone):
    """The Keystone, and the section, of a user who vouches for others."""
    server = keystone()
    return server, {'service_user': {
        'send_service_user_token': True, 'auth_type': 'password',
        'auth_url': server.url, **http_keystone.USER}}


def test_the_service_logs_in_by_password(neutron, reader, by_password):
    reader(options=by_password).segments_of_network('net')

    assert {asked.headers['X-Auth-Token'] for asked in neutron.asked} == {
        http_keystone.TOKEN}


def test_the_service_logs_in_again_when_its_token_is_refused(
        neutron, reader, by_password):
    neutron.on('GET', '/v2.0/subnets?', Answer(401),
               http_neutron.subnets('s1'))

    assert reader(options=by_password).segments_of_network('net') == ['s1']


class TestServiceToken:
    def test_is_sent_beside_the_users(self, neutron, reader, vouching):
        neutron.on('GET', '/v2.0/ports/', a_port())

        reader(others=vouching[1]).port('id')

        [asked] = neutron.asked
        assert asked.headers['X-Auth-Token'] == http_neutron.TOKEN
        assert asked.headers['X-Service-Token'] == http_keystone.TOKEN

    def test_is_got_once(self, neutron, reader, vouching):
        neutron.on('GET', '/v2.0/ports/', a_port())
        keystone, section = vouching
        asking = reader(others=section)
        for port in 'abc':
            asking.port(port)

        assert len(keystone.to('POST', TOKENS)) == 1

    def test_is_not_sent_unless_wanted(self, neutron, reader, vouching):
        neutron.on('GET', '/v2.0/ports/', a_port())
        keystone, section = vouching
        section['service_user']['send_service_user_token'] = False

        reader(others=section).port('id')

        assert 'X-Service-Token' not in neutron.asked[0].headers
        assert not keystone.asked

    def test_is_left_out_with_a_warning_without_a_log_in(
            self, neutron, reader, caplog):
        neutron.on('GET', '/v2.0/ports/', a_port())
        neutron_module._warn_of_no_service_token.cache_clear()
        asking = reader(others={'service_user': {
            'send_service_user_token': True}})
        for port in 'abc':
            asking.port(port)

        assert 'X-Service-Token' not in neutron.asked[0].headers
        assert caplog.text.count('No token of [service_user] is sent') == 1

    def test_that_keystone_refuses_fails_the_read(self, reader, vouching):
        keystone, section = vouching
        keystone.on('POST', TOKENS, http_keystone.REFUSED)

        with pytest.raises(exception.NovaException) as caught:
            reader(others=section).port('id')

        assert str(caught.value).startswith(
            'Failed to access port id: Keystone refuses the credentials: ')
        assert '[service_user]' in str(caught.value)


@pytest.mark.parametrize('answer', [a_port(), Answer(401), Answer(500)])
def test_no_secret_is_logged(neutron, reader, by_password, vouching, caplog,
                             answer):
    caplog.set_level(logging.DEBUG)
    neutron.on('GET', '/v2.0/ports/', answer)
    asking = reader(options=by_password, others=vouching[1])
    asking.segments_of_network('net')
    try:
        asking.port('id')
    except exception.RemoteNovaException as error:
        assert http_neutron.TOKEN not in str(error)

    for secret in (PASSWORD, http_keystone.TOKEN, http_neutron.TOKEN):
        assert secret not in caplog.text
