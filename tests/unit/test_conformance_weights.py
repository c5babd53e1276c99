"""Waivers of weights match the differences that they describe only."""

import contextlib
import copy
import pathlib

import pytest

from tests.conformance import rules
from tests.conformance import vectors
from tests.conformance import weighing
from tests.conformance.stage import Stages
from tests.conformance.waivers import facts
from tests.conformance.waivers import weights

SAMPLE = pathlib.Path(__file__).parents[1] / 'vectors'
CLOUD = 'c14-mixed.queens'


@pytest.fixture(scope='module')
def differences():
    """Every different answer about weights on one cloud of Queens."""
    folder, found = vectors.Folder(SAMPLE), []
    stages = Stages(folder)
    for case in folder.cases():
        if case['kind'] != 'weighers' or case['cloud'] != CLOUD:
            continue
        stage = stages.of(case)
        for name, expected in _answers(case):
            ask = weighing.total if name == 'total' else weighing.weigher
            got = ask(case, name, stage, expected)
            if not facts.same(expected, got):
                found.append(facts.Difference(case, name, stage, expected,
                                              got, None))
    yield found
    stages.close()


def _answers(case):
    both = {key: case['expected'][key] for key in ('total', 'order')}
    yield 'total', both
    for name in rules.WEIGHERS & case['expected'].keys():
        yield name, case['expected'][name]


def reason(difference):
    found = [text for text in (rule(difference) for rule in weights.WEIGHERS)
             if text]
    return found[0] if found else None


def one_more(name):
    """A change: one host's value is bigger by one."""
    def change(answer):
        if not isinstance(answer[name], dict):
            answer[name] += 1
        else:
            answer[name][min(answer[name])] += 1
        return answer
    return change


def other_order(answer):
    if len(answer['order']) < 2:
        raise KeyError
    return answer | {'order': answer['order'][::-1]}


@pytest.mark.parametrize('side', ['expected', 'got'])
@pytest.mark.parametrize('change', [
    *map(one_more, ('raw', 'normalized', 'multiplier', 'total')),
    other_order, lambda answer: {'error': 'KeyError'}])
def test_explain_no_other_answer(differences, side, change):
    changed = []
    for difference in differences:
        with contextlib.suppress(KeyError):
            changed.append(facts.Difference(**vars(difference) | {
                side: change(copy.deepcopy(getattr(difference, side)))}))

    assert changed
    assert not any(map(reason, changed))


def test_explain_no_newer_answer(differences):
    assert not any(
        reason(facts.Difference(**{
            **vars(difference),
            'case': difference.case | {'era': '2026.2'}}))
        for difference in differences)
