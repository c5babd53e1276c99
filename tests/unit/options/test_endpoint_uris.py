"""Addresses of health and metrics."""

import pytest

from nova_sched import conf
from nova_sched.conf import healthcheck
from nova_sched.conf.healthcheck import Endpoint

OPTIONS = [('healthcheck', 'uri'), ('nova_sched', 'metrics_uri')]


@pytest.mark.parametrize('uri, endpoint', [
    ('tcp://127.0.0.1:9000', Endpoint('127.0.0.1', 9000)),
    ('tcp://localhost:1', Endpoint('localhost', 1)),
    ('tcp://sched_1-a.example.org:65535',
     Endpoint('sched_1-a.example.org', 65535)),
    ('tcp://[::1]:9000', Endpoint('::1', 9000)),
    ('unix:///run/nova-sched/health.sock',
     Endpoint(None, None, '/run/nova-sched/health.sock'))])
def test_a_uri_has_host_and_port_or_a_path(uri, endpoint):
    assert healthcheck.endpoint(uri) == endpoint


@pytest.mark.parametrize('uri, words', [
    ('9000', 'neither tcp://host:port nor unix:///absolute/path'),
    ('http://localhost:9000', 'neither'),
    ('tcp://localhost', 'no host and port'),
    ('tcp://:9000', 'no host and port'),
    ('tcp://::1:9000', 'an IPv6 address stands in [ ]'),
    ('tcp://local host:9000', 'no host and port'),
    ('tcp://localhost:0', 'no port from 1 to 65535'),
    ('tcp://localhost:424242', 'no port from 1 to 65535'),
    ('tcp://localhost:90x', 'no port from 1 to 65535'),
    ('tcp://localhost:9000/health', 'no port from 1 to 65535'),
    ('unix://health.sock', 'no absolute path'),
    ('unix:///run/../etc/x', 'no absolute path'),
    ('unix:///run/a b', 'no absolute path'),
    ('unix:///run/', 'no absolute path'),
    ('unix:///' + 'x' * 100, 'more than 100 characters')])
def test_another_uri_is_refused(parsed, uri, words):
    [problem] = conf.check(parsed(f'[healthcheck]\nuri = {uri}\n'))
    assert words in str(problem)


def test_both_options_are_checked(parsed):
    for section, name in OPTIONS:
        [problem] = conf.check(parsed(f'[{section}]\n{name} = 9000\n'))
        assert problem.option == f'[{section}] {name}'


@pytest.mark.parametrize('section, name', OPTIONS)
def test_several_addresses_are_accepted(parsed, section, name):
    config = parsed(f'[{section}]\n{name} = tcp://[::1]:1, unix:///run/x')
    assert config[section][name] == ['tcp://[::1]:1', 'unix:///run/x']
    assert conf.check(config) == []
