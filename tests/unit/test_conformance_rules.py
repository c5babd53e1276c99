"""Waivers of chains and runs match Nova's known differences only."""

import copy
import pathlib

import pytest

from tests.conformance import rules
from tests.conformance import runs
from tests.conformance import vectors
from tests.conformance.stage import Stages

SAMPLE = pathlib.Path(__file__).parents[1] / 'vectors'

#: A cloud with hosts without a report.
CLOUD = 'c07-dense'

#: By number, the hosts there and those that take the project demo by the one
#: key of aggregates that Queens looks at.
ALL, DEMO = range(6), (0, 1, 3, 5)


@pytest.fixture(scope='module')
def cases():
    return [case for case in vectors.Folder(SAMPLE).cases()
            if case['kind'] == 'filters'
            and case['cloud'].startswith(f'{CLOUD}.')]


@pytest.fixture
def outcome(cases):
    """Function: the Outcome of a case with changes.

    fields: of the request.  extra_specs: of its flavor.
    """
    stages = Stages(vectors.Folder(SAMPLE))

    def ask(era, name, expected, answer, options, extra_specs=None, **fields):
        case = copy.deepcopy(next(
            case for case in cases if case['era'] == era))
        case |= {'driver': 'filter_scheduler', 'config': options}
        data = case['request_spec']['nova_object.data']
        data |= {'force_hosts': None, 'force_nodes': None,
                 'ignore_hosts': None, 'requested_destination': None,
                 'scheduler_hints': {}, 'image': None, **fields}
        data['flavor']['nova_object.data'] |= {
            'extra_specs': extra_specs or {}, 'memory_mb': 1, 'vcpus': 1}
        if answer is runs._run:
            case['kind'] = 'schedule'
        case.pop('limits', None)
        return rules.judged(case, name, stages.of(case), expected, answer)

    yield ask
    stages.close()


def chain(*names, **options):
    return {'filter_scheduler': {'enabled_filters': list(names)}, **options}


def named(numbers):
    return [[f'cmp00{number}.dc1.example.org'] * 2 for number in numbers]


@pytest.mark.parametrize(('settings', 'left', 'verdict'), [
    (['cpu.percent=1'], DEMO, 'waived'),
    (['cpu.percent=1'], DEMO[1:], 'failed'),
    ([], DEMO, 'waived')])
def test_an_error_after_a_newer_answer_is_waived_where_nova_raises(
        outcome, settings, left, verdict):
    """The first filter differs from Queens, and the second raises."""
    raised = {'error': 'TypeError', 'start': named(ALL), 'steps': [
        ['AggregateMultiTenancyIsolation', named(left)]]}

    found = outcome(
        'queens', 'chain', raised, rules._chain, chain(
            'AggregateMultiTenancyIsolation', 'MetricsFilter',
            metrics={'weight_setting': settings}), project_id='demo')

    assert found.verdict == verdict


@pytest.mark.parametrize(('weighers', 'verdict'), [
    (['cpu.CPUWeigher'], 'waived'), (['ram.RAMWeigher'], 'failed')])
def test_an_error_of_a_whole_run_is_waived_where_nova_raises(
        outcome, weighers, verdict):
    options = chain()
    options['filter_scheduler']['weight_classes'] = [
        f'nova.scheduler.weights.{name}' for name in weighers]

    found = outcome('2026.2', 's-rebuild', {'error': 'TypeError'},
                    runs._run, options)

    assert found.verdict == verdict


@pytest.mark.parametrize(('query', 'verdict'), [
    ('["=", "$hypervisor_hostname", "cmp003.dc1.example.org"]', 'waived'),
    ('["=", "$nodename", "cmp003.dc1.example.org"]', 'failed')])
def test_defaults_of_silent_hosts_are_waived(outcome, query, verdict):
    """Nova has no such name for them."""
    found = outcome('2026.2', 'JsonFilter', [], rules._single,
                    chain('JsonFilter'), scheduler_hints={'query': [query]})

    assert found.verdict == verdict


def test_an_extra_spec_that_raises_first_is_waived(outcome):
    """Here another extra spec rejects the host, in any order."""
    found = outcome(
        'queens', 'AggregateInstanceExtraSpecsFilter', {'error': 'ValueError'},
        rules._single, chain(),
        {'a-metadata-key-of-no-host': '1', 'filter_tenant_id': '>= 1'})

    assert found.verdict == 'waived'
