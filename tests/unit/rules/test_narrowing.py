"""Narrowing by the names in a request, step by step."""

import pytest

from nova_sched.rules import narrowing
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_destination
from tests.builders.requests import a_request

NAMED = {
    'cell': {'requested_destination': a_destination(cell='c2')},
    'requested destination': {'requested_destination': a_destination(
        host='b', node='n')},
    'ignore_hosts': {'ignore_hosts': ['A']},
    'force_hosts': {'force_hosts': ['b']},
    'force_nodes': {'force_nodes': ['b', 'c']}}
REASONS = {
    'cell': 'the request is bound to another cell',
    'requested destination': 'the request is bound to host b, node n',
    'ignore_hosts': 'the request ignores it',
    'force_hosts': 'the request is forced to host b',
    'force_nodes': 'the request is forced to node b, c'}


def test_a_request_without_names_has_no_step():
    assert narrowing.applicable(hosts(a_host()), a_request()) == []


@pytest.mark.parametrize('name', NAMED)
def test_each_step_has_a_reason(name):
    block = hosts(a_host('a', cell_uuid='c1'),
                  a_host('b', nodename='n', cell_uuid='c2'),
                  a_host('b', nodename='b', cell_uuid='c2'))
    spec = a_request(**NAMED[name])

    (step, left), = narrowing.applicable(block, spec)

    assert step == name
    assert 0 not in left.rows.tolist()
    assert narrowing.reason(name, spec) == REASONS[name]
