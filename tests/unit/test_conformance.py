"""A sample of Nova's recorded decisions, repeated by this scheduler."""

import gzip
import json
import pathlib

import pytest

from nova_sched.rules import nova_classes
from tests.conformance import __main__ as conformance
from tests.conformance import vectors
from tests.conformance.waivers import facts

#: Rules that no recorded release has.
GONE_BEFORE_QUEENS = {'TrustedFilter', 'TypeAffinityFilter'}
NOVAS = {name for modules in (nova_classes.FILTER_MODULES,
                              nova_classes.WEIGHER_MODULES)
         for names in modules.values() for name in names}
SAMPLE = pathlib.Path(__file__).parents[1] / 'vectors'


@pytest.fixture(scope='module')
def outcomes():
    return list(conformance.run(vectors.Folder(SAMPLE)))


def test_every_recorded_answer_is_repeated_or_waived(outcomes):
    assert [(outcome.case['id'], outcome.name, outcome.reason)
            for outcome in outcomes if outcome.verdict == 'failed'] == []


def test_every_rule_of_nova_is_covered(outcomes):
    covered = {outcome.name for outcome in outcomes
             if outcome.verdict == 'passed'}

    assert covered >= NOVAS - GONE_BEFORE_QUEENS | {'chain', 'total', 'states'}


@pytest.fixture
def outcome(tmp_path):
    """Function: the outcome of a case of the sample, with some keys
    changed."""
    def outcome(wanted=lambda case: True, **changes):
        case = next(case for case in vectors.Folder(SAMPLE).cases()
                    if case['kind'] == 'filters' and wanted(case)) | changes
        with gzip.open(tmp_path / 'filters.jsonl.gz', 'wt') as file:
            file.write(json.dumps(case))
        (tmp_path / 'clouds').symlink_to(SAMPLE / 'clouds')
        [found] = conformance.run(vectors.Folder(tmp_path))
        return found
    return outcome


def test_an_unknown_rule_is_a_failure(outcome):
    found = outcome(expected={'NoSuchFilter': {'error': 'ValueError'}})

    assert found.verdict == 'failed'
    assert 'NoSuchFilter' in found.reason


def test_a_case_that_cannot_run_is_a_failure(outcome):
    found = outcome(cloud='no-such-cloud')

    assert found.verdict == 'failed'
    assert 'no-such-cloud' in found.reason


@pytest.mark.parametrize('config', [
    {}, {'metrics': {'weight_setting': []}},
    {'metrics': {'weight_setting': ['cpu.percent=1.0']}}])
def test_nova_raises_on_a_host_that_never_reported(outcome, config):
    """MetricsFilter raises, even if no metric is configured."""
    found = outcome(lambda case: case['cloud'].startswith('c07'),
                    config=config,
                    expected={'MetricsFilter': {'error': 'TypeError'}})

    assert (found.verdict, found.reason) == (
        'waived', f'{facts.RAISED}: a host that never reported its usage')


@pytest.mark.parametrize(('expected', 'got', 'alike'), [
    ({'error': 'TypeError'}, {'error': 'KeyError'}, True),
    ({'error': 'TypeError'}, [], False),
    ([], {'error': 'KeyError'}, False),
    ({'a': 1.0}, {'a': 1.0 + 1e-12}, True),
    ({'a': 1.0}, {'a': 1.1}, False),
    ({'a': 1}, {'a': 1, 'b': 2}, False),
    ([['h', 'n']], [['h', 'n']], True),
    ([['h', 'n']], [], False),
])
def test_answers_agree_up_to_rounding_and_the_kind_of_error(
        expected, got, alike):
    assert facts.same(expected, got) is alike


def test_a_folder_without_cases_is_an_error(tmp_path, capsys):
    assert conformance.main([str(tmp_path)]) == 2
    assert 'no such cases' in capsys.readouterr().err


def test_the_command_narrows_and_reports(tmp_path, capsys):
    report = tmp_path / 'report.jsonl'

    status = conformance.main([str(SAMPLE), '-k', 'RetryFilter', '--era',
                               'queens', '--json', str(report)])

    assert status == 0
    assert 'RetryFilter' in capsys.readouterr().out
    assert all('"RetryFilter"' in line
               for line in report.read_text().splitlines())
