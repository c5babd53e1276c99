"""The hosts of a broker, as URLs and connections of kombu."""

import pytest

from nova_sched.rpc import brokers
from tests.builders import rules


def test_each_host_of_a_cluster_has_a_url():
    url = 'rabbit://me:p%2Fw%40@one:5673,you:x@[::1]/v'

    assert sorted(brokers.urls(rules.a_conf(), url)) == [
        'amqp://me:p%2Fw%40@one:5673/v', 'amqp://you:x@[::1]:5672/v']


@pytest.mark.parametrize(('url', 'urls'), [
    ('rabbit://', ['amqp://guest:guest@localhost:5672/%2F']),
    ('rabbit://one,me@two', ['amqp://:@one:5672/%2F',
                             'amqp://me:@two:5672/%2F'])])
def test_host_user_and_password_may_be_missing(url, urls):
    assert sorted(brokers.urls(rules.a_conf(), url)) == urls


@pytest.mark.parametrize('options, tls', [
    ({}, False),
    ({'ssl': True}, True),
    ({'ssl': True, 'ssl_cert_file': '/c', 'ssl_key_file': '/k'},
     {'certfile': '/c', 'keyfile': '/k'}),
    ({'ssl': True, 'ssl_ca_file': '/ca'},
     {'ca_certs': '/ca', 'cert_reqs': 2, 'server_hostname': 'one'})])
def test_tls_follows_the_options(options, tls):
    conf = rules.a_conf(**{f'oslo_messaging_rabbit__{name}': value
                           for name, value in options.items()})

    assert brokers.connection(conf, 'rabbit://me:pw@one/', 'a name').ssl == tls


def test_connection_has_a_name_and_timeouts_of_five_seconds():
    made = brokers.connection(
        rules.a_conf(oslo_messaging_rabbit__heartbeat_timeout_threshold=33,
                     oslo_messaging_rabbit__kombu_failover_strategy='shuffle',
                     oslo_messaging_rabbit__rabbit_login_method='PLAIN'),
        'rabbit://me:pw@one/v', 'a name')

    assert (made.connect_timeout, made.heartbeat) == (5, 33)
    assert (made.login_method, made.virtual_host) == ('PLAIN', 'v')
    assert made.failover_strategy.__name__ == 'shufflecycle'
    assert made.transport_options == {
        'read_timeout': 5, 'write_timeout': 5, 'client_properties': {
            'connection_name': 'a name', 'capabilities': {
                'authentication_failure_close': True,
                'consumer_cancel_notify': True}}}
    assert not made.connected


def test_server_names_of_a_cluster_are_not_compared():
    conf = rules.a_conf(oslo_messaging_rabbit__ssl=True,
                        oslo_messaging_rabbit__ssl_ca_file='/ca')

    assert brokers.connection(conf, 'rabbit://one,two/', 'a name').ssl == {
        'ca_certs': '/ca', 'cert_reqs': 2}


@pytest.mark.parametrize('url', ['fake://', 'kombu+memory://'])
def test_other_transports_have_no_hosts(url):
    assert brokers.urls(rules.a_conf(), url) == []
    assert brokers.brokers(rules.a_conf(), url) == []


def test_hosts_are_shuffled():
    url = f'rabbit://{",".join(f"h{n}" for n in range(20))}/'
    found = [brokers.urls(rules.a_conf(), url) for _ in range(3)]

    assert not found[0] == found[1] == found[2]
    assert {*found[0]} == {*found[1]}
