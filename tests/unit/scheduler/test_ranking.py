"""Narrowing by the names in a request, before filters and weighers."""

import logging

import pytest

from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import State
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import filters
from tests.builders import hosts
from tests.builders import requests
from tests.builders import rules
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.hosts import a_host

FOUR = (a_host('alpha', nodename='n1', cell_uuid=CELL1),
        a_host('alpha', nodename='n2', cell_uuid=CELL1),
        a_host('Beta', nodename='n3', cell_uuid=CELL2),
        a_host('gamma', nodename='n4', cell_uuid=CELL2))
NODES = ['n1', 'n2', 'n3', 'n4']


class RefusingFilter(filters.BaseHostFilter):
    """No host is good enough."""

    RUN_ON_REBUILD = True

    def host_passes(self, host_state, filter_properties):
        return False


class RebuildRefusingFilter(RefusingFilter):
    RUN_ON_REBUILD = False


def ranked(spec, records=FOUR, enabled=('AllHostsFilter',), decision=None):
    """The ``Ranked`` of hosts in memory."""
    ranker = plugins.load_ranker(rules.a_conf(
        available_filters=['nova.scheduler.filters.all_filters',
                           f'{__name__}.RefusingFilter',
                           f'{__name__}.RebuildRefusingFilter'],
        enabled_filters=list(enabled)))
    block = hosts.hosts(*records)
    if decision is None:
        decision = Decision('req', 'uuid')
    decision.state = State(hosts=len(block))
    return ranker.ranked(block, spec, 0, decision)


def nodes(spec, **kwargs):
    """The names of the nodes that pass, sorted."""
    return sorted(ranked(spec, **kwargs).hosts.objects('nodename'))


def to(**destination):
    return {'requested_destination': requests.a_destination(**destination)}


class TestNarrowing:
    @pytest.mark.parametrize('named, left', [
        pytest.param({}, NODES, id='nothing named'),
        pytest.param(to(), NODES, id='a destination that names nothing'),
        pytest.param(to(host='alpha'), ['n1', 'n2'],
                     id='destination host: all its nodes'),
        pytest.param(to(host='alpha', node='n2'), ['n2'],
                     id='destination host and node'),
        pytest.param(to(host='alpha', node=''), ['n1', 'n2'],
                     id='destination with an empty node'),
        pytest.param(to(host='alpha', node='n3'), [],
                     id='destination node of another host'),
        pytest.param(to(host='ALPHA'), [],
                     id='destination host in another case'),
        pytest.param(to(host='alpha', node='N1'), [],
                     id='destination node in another case'),
        pytest.param(to(cell=CELL2), ['n3', 'n4'], id='cell'),
        pytest.param(to(cell=CELL2, allow_cross_cell_move=True), NODES,
                     id='cell that the move may leave'),
        pytest.param(to(cell='no-such-cell'), [], id='unknown cell'),
        pytest.param(to(cell=CELL1, host='gamma'), [],
                     id='destination host of another cell'),
        pytest.param({'ignore_hosts': ['ALPHA']}, ['n3', 'n4'],
                     id='ignored host in another case'),
        pytest.param({'ignore_hosts': ['beta', 'gamma']}, ['n1', 'n2'],
                     id='two ignored hosts'),
        pytest.param({'ignore_hosts': ['delta']}, NODES,
                     id='unknown ignored host'),
        pytest.param({'ignore_hosts': ['alpha', 'beta', 'gamma']}, [],
                     id='all ignored'),
        pytest.param({'force_hosts': ['BETA']}, ['n3'],
                     id='forced host in another case'),
        pytest.param({'force_hosts': ['beta', 'gamma']}, ['n3', 'n4'],
                     id='two forced hosts'),
        pytest.param({'force_nodes': ['n2']}, ['n2'], id='forced node'),
        pytest.param({'force_nodes': ['N2']}, [],
                     id='forced node in another case'),
        pytest.param({'force_hosts': ['alpha'], 'force_nodes': ['n1']},
                     ['n1'], id='forced host and node'),
        pytest.param({'force_hosts': ['alpha'], 'force_nodes': ['n3']}, [],
                     id='forced node of another host'),
        pytest.param({'ignore_hosts': ['alpha'], 'force_hosts': ['alpha']},
                     [], id='a host both ignored and forced'),
        pytest.param({'ignore_hosts': [], 'force_hosts': [],
                      'force_nodes': []}, NODES, id='empty lists'),
    ])
    def test_leaves_what_the_request_names(self, named, left):
        assert nodes(requests.a_request(**named)) == left

    def test_goes_from_cell_and_destination_to_ignored_and_forced(self):
        decision = Decision('req', 'uuid')

        ranked(requests.a_request(
            **to(cell=CELL1, host='alpha'), ignore_hosts=['x'],
            force_hosts=['alpha'], force_nodes=['n1']), decision=decision)

        assert [(step.name, step.before, step.after)
                for step in decision.funnel.steps] == [
            ('cell', 4, 2), ('force_nodes', 2, 1)]

        # No filter runs without hosts.
        nothing = Decision('req', 'uuid')
        ranked(requests.a_request(ignore_hosts=['alpha', 'beta', 'gamma']),
               decision=nothing)
        assert [step.name for step in nothing.funnel.steps] == [
            'ignore_hosts']


class TestForcedHosts:
    @pytest.mark.parametrize('forced', [
        {'force_hosts': ['alpha']}, {'force_nodes': ['n1', 'n2']}])
    def test_are_not_filtered(self, forced):
        found = ranked(requests.a_request(**forced),
                       enabled=['RefusingFilter'])

        assert sorted(found.hosts.objects('nodename')) == ['n1', 'n2']

    def test_are_weighed(self):
        found = ranked(
            requests.a_request(force_hosts=['small', 'big']),
            records=(a_host('small', free_ram_mb=1000),
                     a_host('big', free_ram_mb=2000),
                     a_host('huge', free_ram_mb=9000)))

        assert found.hosts.objects('host') == ['big', 'small']

    @pytest.mark.parametrize(('hint', 'expected'), [
        (['rebuild'], []), (['anything'], []), ([], ['n1', 'n2'])])
    def test_are_filtered_with_a_check_type(self, hint, expected):
        spec = requests.a_request(force_hosts=['alpha'],
                                  hints={'_nova_check_type': hint})

        assert nodes(spec, enabled=['RefusingFilter']) == expected


class TestRequestedDestination:

    @pytest.mark.parametrize('enabled, hint, left', [
        ('RebuildRefusingFilter', [], []),
        ('RebuildRefusingFilter', ['rebuild'], ['n1']),
        ('RefusingFilter', ['rebuild'], [])])
    def test_is_filtered_by_filters_for_rebuilds_if_it_is_one(
            self, enabled, hint, left):
        spec = requests.a_request(**to(host='alpha', node='n1'),
                                  hints={'_nova_check_type': hint})

        assert nodes(spec, enabled=[enabled]) == left


class TestLogs:
    @pytest.mark.parametrize('named, text', [
        (to(host='alpha', node='n1'),
         'Host filter only checking host alpha and node n1'),
        (to(host='delta', node='n1'),
         'No hosts matched due to not matching requested destination '
         '(delta, n1)'),
        ({'ignore_hosts': ['beta', 'delta', 'ALPHA']},
         'Host filter ignoring hosts: Beta, alpha'),
        ({'force_hosts': ['beta', 'delta']},
         'Host filter forcing available hosts to beta, delta'),
        ({'force_hosts': ['delta']},
         "No hosts matched due to not matching 'force_hosts' value of "
         "'delta'"),
        ({'force_nodes': ['n1']},
         'Host filter forcing available nodes to n1'),
        ({'force_nodes': ['n9', 'n8']},
         "No nodes matched due to not matching 'force_nodes' value of "
         "'n9, n8'"),
    ])
    def test_say_what_narrowed_the_hosts(self, caplog, named, text):
        with caplog.at_level(logging.INFO, 'nova_sched'):
            ranked(requests.a_request(**named))

        assert text in caplog.messages
