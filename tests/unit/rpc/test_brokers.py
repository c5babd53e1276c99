"""The hosts of a broker, as kombu is told of them."""

import pytest

from nova_sched.rpc import brokers
from tests.builders import rules


def test_each_host_of_a_cluster_has_a_url():
    url = 'rabbit://me:p%2Fw%40@one:5673,you:x@[::1]/v'

    assert sorted(brokers.urls(rules.a_conf(), url)) == [
        'amqp://me:p%2Fw%40@one:5673/v', 'amqp://you:x@[::1]:5672/v']


def test_without_a_host_it_is_that_of_this_machine():
    assert brokers.urls(rules.a_conf(), 'rabbit://') == [
        'amqp://guest:guest@localhost:5672/%2F']


@pytest.mark.parametrize('options, tls', [
    ({}, False),
    ({'ssl': True}, True),
    ({'ssl': True, 'ssl_cert_file': '/c', 'ssl_key_file': '/k'},
     {'certfile': '/c', 'keyfile': '/k'}),
    ({'ssl': True, 'ssl_ca_file': '/ca'},
     {'ca_certs': '/ca', 'cert_reqs': 2, 'server_hostname': 'one'})])
def test_tls_is_that_of_the_other_connections(options, tls):
    conf = rules.a_conf(**{f'oslo_messaging_rabbit__{name}': value
                           for name, value in options.items()})

    assert brokers.connection(
        conf, 'rabbit://me:pw@one/', 'a name').ssl == tls
