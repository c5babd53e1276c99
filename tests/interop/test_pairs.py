"""The same requests to the real nova-scheduler and to nova-sched.

NOVA_SCHED_TEST_PAIRS: names of rig.PROGRAMS; the others are compared with the
first.  ``nova,nova`` shows that the compared values do not vary by chance.
NOVA_SCHED_TEST_TOPICS: prefixes of topics, with commas; by default all.
NOVA_SCHED_TEST_EACH: number of requests a topic.
NOVA_SCHED_TEST_SEED: another cloud and other requests.
NOVA_SCHED_TEST_DEBUG: ``true`` for debug logs of schedulers in --basetemp.
"""

import collections
import json
import os
import sys

import pytest

from tests.interop import generate
from tests.interop import rig as rigs

pytestmark = pytest.mark.real

NAMES = os.environ.get('NOVA_SCHED_TEST_PAIRS', 'nova,ours,mirror').split(',')
TOPICS = tuple(os.environ.get('NOVA_SCHED_TEST_TOPICS', '').split(','))
SEED = os.environ.get('NOVA_SCHED_TEST_SEED', '34')
EACH = int(os.environ.get('NOVA_SCHED_TEST_EACH', 1))


def test_schedulers_pick_and_claim_the_same(tmp_path, capsys):
    """Or equal hosts, or all refuse; alternates and limits are the same."""
    assert len(NAMES) > 1
    with rigs.Rig(tmp_path, NAMES, SEED) as rig:
        compare(rig, capsys)


def compare(rig, capsys):
    """Send the questions to all schedulers of a Rig; compare outcomes."""
    questions = [question for question in generate.questions(
        rig.world, rig.cells, SEED, EACH) if question.topic.startswith(TOPICS)]
    tally, differing = collections.Counter(), []
    for number, question in enumerate(questions):
        first, *others = (rig.ask(scheduler, question)
                          for scheduler in rig.schedulers)
        tally['refused' if first.refusal else 'placed'] += 1
        for scheduler, other in zip(rig.schedulers[1:], others, strict=True):
            if differences := first.differences(other):
                tally['differing'] += 1
                differing.append('\n  '.join([
                    f'{number} {question.topic}, {scheduler.name}',
                    *differences, f'asked: {json.dumps(question.spec)}',
                    f'held: {json.dumps(question.held)}']))
        if number % 20 == 19:
            with capsys.disabled():
                sys.stdout.write(f'\n{number + 1} of {len(questions)}: '
                                 f'{dict(tally)} ')
                sys.stdout.flush()

    assert not differing, (
        f'{len(differing)} answers to {len(questions)} requests differ:\n'
        + '\n'.join(differing))
    assert tally['placed']
