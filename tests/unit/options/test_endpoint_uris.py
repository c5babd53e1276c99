"""Addresses of health and metrics."""

import pytest

from nova_sched import conf
from nova_sched.conf import healthcheck
from nova_sched.conf.healthcheck import Endpoint
from tests.builders.case_tables import case_table


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


@case_table('options-endpoint-uris', 'refused')
def test_another_uri_is_refused(parsed, uri, words):
    [problem] = conf.check(parsed(f'[healthcheck]\nuri = {uri}\n'))
    assert words in str(problem)


@pytest.mark.parametrize('section, name', [
    ('healthcheck', 'uri'), ('nova_sched', 'metrics_uri')])
def test_both_options_are_checked_and_may_have_several_addresses(
        parsed, section, name):
    [problem] = conf.check(parsed(f'[{section}]\n{name} = 9000\n'))
    assert problem.option == f'[{section}] {name}'
    config = parsed(f'[{section}]\n{name} = tcp://[::1]:1, unix:///run/x')
    assert config[section][name] == ['tcp://[::1]:1', 'unix:///run/x']
    assert conf.check(config) == []
