"""The same requests of the real nova-scheduler and of ours.

NOVA_SCHED_TEST_PAIRS names the two schedulers to compare, of rig.PROGRAMS,
instead of the pairs below: ``nova,nova`` shows that what is compared does not
differ by chance.
NOVA_SCHED_TEST_TOPICS: words that topics begin with, with commas; all.
NOVA_SCHED_TEST_EACH: how many requests a topic.
NOVA_SCHED_TEST_SEED: another cloud and other requests.
NOVA_SCHED_TEST_DEBUG: ``true`` for all that schedulers say, in --basetemp.
"""

import collections
import json
import os
import sys

import pytest

from tests.interop import generate
from tests.interop import rig as rigs

pytestmark = pytest.mark.real

#: Two schedulers, and how many questions about each topic they are asked.
PAIRS = [('nova,ours', 3), ('nova,mirror', 2)]
NAMES = os.environ.get('NOVA_SCHED_TEST_PAIRS')
TOPICS = tuple(os.environ.get('NOVA_SCHED_TEST_TOPICS', '').split(','))
SEED = os.environ.get('NOVA_SCHED_TEST_SEED', '34')
EACH = os.environ.get('NOVA_SCHED_TEST_EACH')


@pytest.mark.parametrize(
    ('names', 'each'), [(NAMES, PAIRS[0][1])] if NAMES else PAIRS)
def test_both_choose_the_same_hosts_and_claim_the_same(
        names, each, tmp_path, capsys):
    """Or hosts that are alike, or both refuse; alternates and limits too."""
    with rigs.Rig(tmp_path, names.split(','), SEED) as rig:
        compare(rig, int(EACH or each), capsys)


def compare(rig, each, capsys):
    """Ask both schedulers of a Rig."""
    questions = [question for question in generate.questions(
        rig.world, rig.cells, SEED, each) if question.topic.startswith(TOPICS)]
    tally, differing = collections.Counter(), []
    for number, question in enumerate(questions):
        mine, others = (rig.ask(scheduler, question)
                        for scheduler in rig.schedulers)
        tally['refused' if mine.refusal else 'placed'] += 1
        if differences := mine.differences(others):
            tally['differing'] += 1
            differing.append('\n  '.join([
                f'{number} {question.topic}', *differences,
                f'asked: {json.dumps(question.spec)}',
                f'held: {json.dumps(question.held)}']))
        if number % 20 == 19:
            with capsys.disabled():
                sys.stdout.write(f'\n{number + 1} of {len(questions)}: '
                                 f'{dict(tally)} ')
                sys.stdout.flush()

    assert not differing, (f'{len(differing)} of {len(questions)} differ:\n'
                           + '\n'.join(differing))
    assert tally['placed']
