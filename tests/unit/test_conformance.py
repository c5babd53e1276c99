"""A sample of Nova's recorded decisions, put to this scheduler."""

import gzip
import json
import pathlib

import pytest

from tests.conformance import __main__ as conformance
from tests.conformance import rules
from tests.conformance import vectors
from tests.conformance.waivers import facts

#: No release that was recorded has these.
GONE_BEFORE_QUEENS = {'TrustedFilter', 'TypeAffinityFilter'}
SAMPLE = pathlib.Path(__file__).parents[1] / 'vectors'


@pytest.fixture(scope='module')
def outcomes():
    return list(conformance.run(vectors.Folder(SAMPLE)))


def test_every_recorded_answer_is_ours_or_waived_by_rule(outcomes):
    assert [(outcome.case['id'], outcome.name, outcome.reason)
            for outcome in outcomes if outcome.verdict == 'failed'] == []


def test_every_built_in_is_asked(outcomes):
    asked = {outcome.name for outcome in outcomes
             if outcome.verdict == 'passed'}

    assert asked >= (rules.FILTERS - GONE_BEFORE_QUEENS | rules.WEIGHERS
                     | {'chain', 'total', 'states'})


def test_a_rule_that_there_is_not_is_a_failure(tmp_path):
    case = next(case for case in vectors.Folder(SAMPLE).cases()
                if case['kind'] == 'filters')
    case |= {'expected': {'NoSuchFilter': {'error': 'ValueError'}}}
    with gzip.open(tmp_path / 'filters.jsonl.gz', 'wt') as file:
        file.write(json.dumps(case))
    (tmp_path / 'clouds').symlink_to(SAMPLE / 'clouds')

    [outcome] = conformance.run(vectors.Folder(tmp_path))

    assert outcome.verdict == 'failed'
    assert 'NoSuchFilter' in outcome.reason


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
