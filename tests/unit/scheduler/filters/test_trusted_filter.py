"""TrustedFilter."""

import pytest

from nova_sched.rules import attestation
from nova_sched.scheduler.filters.trusted_filter import TrustedFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured

LEVELS = {'a': 'trusted', 'b': 'untrusted'}


def block():
    return hosts(a_host('a'), a_host('b'), a_host('c'))


def rule(queries=None):
    """A filter with a server that reports LEVELS.

    queries: list that gets the queried nodes.
    """
    def poll(nodes):
        if queries is not None:
            queries.append(nodes)
        return [{'host_name': name, 'trust_lvl': level,
                 'vtime': '2023-11-14T22:13:00Z'}
                for name, level in LEVELS.items()]

    made = configured(TrustedFilter)
    made.levels = attestation.TrustLevels(poll, 60, lambda: 1_700_000_000.0)
    return made


def wanting(level):
    return a_request(extra_specs={'trust:trusted_host': level})


@pytest.mark.parametrize(('level', 'passing'), [
    ('trusted', 'a'), ('untrusted', 'b'), ('unknown', 'c'), ('Trusted', '')])
def test_a_node_has_the_level_of_the_flavor(level, passing):
    hosts = block()

    passes = rule().mask(hosts, wanting(level))

    assert ''.join(hosts.where(passes).objects('host')) == passing


def test_without_a_level_the_server_is_not_queried():
    queries = []

    assert rule(queries).mask(block(), a_request()).all()
    assert not len(rule(queries).mask(hosts(), wanting('trusted')))
    assert queries == []


def test_the_server_is_queried_for_all_nodes_at_once():
    """Also about nodes that other filters have rejected."""
    queries, hosts = [], block()
    some = hosts.snapshot.block(hosts.rows[:1])

    rule(queries).mask(some, wanting('trusted'))

    assert queries == [['a', 'b', 'c']]


def test_without_a_server_no_host_is_trusted(caplog):
    with caplog.at_level('WARNING', 'nova_sched'):
        made = configured(TrustedFilter)
        passes = made.mask(block(), wanting('trusted'))

    assert not passes.any()
    assert 'experimental' in caplog.messages[0]
    assert 'attestation_server is not set' in caplog.messages[1]


@pytest.mark.parametrize('options', [
    {'trusted_computing__attestation_port': 'https'},
    {'trusted_computing__attestation_server_ca_file': '/nowhere/ca.pem'}])
def test_invalid_options_fail_the_start(options):
    with pytest.raises((ValueError, OSError)):
        configured(TrustedFilter, **options)
