"""The verdict on a live decision and a decision made here."""

import numpy as np
import pytest

from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow.compare import Comparison
from nova_sched.dry_run.shadow.compare import LiveDecision
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.decision import State
from nova_sched.hosts.labels import Labels

HOSTS = ['a', 'b', 'c', 'd', 'e', 'f']
WEIGHTS = [3.0, 3.0, 2.0]
REFUSED = decision.REFUSED


def a_record(picks='', outcome=decision.PLACED, rejected=True,
             weights=WEIGHTS):
    """A record of HOSTS, of which a, b and c have weights.

    A filter each rejects d and e, and Placement does not offer f.
    picks: hosts of the instances.
    """
    names = Labels.of(HOSTS), Labels.of([f'{host}.org' for host in HOSTS])
    record = Decision(state=State(hosts=len(HOSTS), names=names))
    if rejected:
        for rule, row in ((compare.OFFERED, 5), ('RamFilter', 4),
                          ('ComputeFilter', 3)):
            record.funnel.step(0, rule, np.arange(row + 1), np.arange(row))
    for index, host in enumerate(picks):
        row = HOSTS.index(host)
        record.picked(
            Pick(index, f'uuid{index}', host, f'{host}.org', weights[row]),
            (), decision.Weights(np.arange(3), np.array(weights), None))
    record.close(outcome)
    return record


def a_plain_record(pick=None, offer=None, **state):
    """A record without weights and rejections."""
    record = Decision(offer=offer, **state)
    if pick:
        record.picked(Pick(0, 'uuid0', pick, f'{pick}.org'))
    record.close(decision.PLACED if pick else REFUSED)
    return record


def live(hosts):
    return LiveDecision(tuple((host, f'{host}.org') for host in hosts))


@pytest.mark.parametrize(('record', 'there', 'more', 'expected'), [
    # The worst host counts, in any order of the instances.
    *((a_record(here), live(there), {}, expected)
      for here, there, expected in (
          ('a', 'a', compare.SAME), ('a', 'b', compare.EQUALS),
          ('ac', 'ca', compare.SAME), ('aa', 'ab', compare.EQUALS),
          ('aa', 'ac', compare.LOWER), ('aaa', 'bcd', compare.REFUSED_HERE))),
    # A node counts if it is known.
    (a_record('a'), LiveDecision((('a', None),)), {}, compare.SAME),
    (a_record('a'), LiveDecision((('a', 'other'),)), {},
     compare.REFUSED_HERE),
    # Hosts of the random subset are equal: host_subset_size.
    *((a_record('a'), live('c'), {'subset_size': size}, expected)
      for size, expected in ((3, compare.EQUALS), (2, compare.LOWER),
                             (9, compare.EQUALS))),
    # Weights are rounded.
    *((a_record('a', weights=[3.0, 3.0 - less, 2.0]), live('b'), {}, expected)
      for less, expected in ((1e-10, compare.EQUALS), (1e-8, compare.LOWER))),
    # Changes of state do not excuse an error.
    (a_record(outcome=decision.FAILED), live('a'), {'changes': ['a moved']},
     compare.FAILED)])
def test_hosts_weights_and_changes_decide_the_verdict(
        record, there, more, expected):
    assert compare.compare(record, there, **more).verdict == expected


@pytest.mark.parametrize(('record', 'there', 'expected', 'rule', 'why'), [
    (a_record('a'), 'c', compare.LOWER, 'weight',
     'c weighs 2 and is number 3 of 3; a weighs 3'),
    (a_record('a', rejected=False), 'd', compare.LOWER, 'weight',
     'd is not among the best 3'),
    (a_record('a'), 'd', compare.REFUSED_HERE, 'ComputeFilter',
     'ComputeFilter refuses d'),
    (a_record('a'), 'e', compare.REFUSED_HERE, 'RamFilter',
     'RamFilter refuses e'),
    (a_record('a'), 'f', compare.REFUSED_HERE, compare.OFFERED,
     'Placement did not offer f'),
    (a_record('a'), 'z', compare.REFUSED_HERE, 'unknown host',
     'z is none of the 6 hosts that were read'),
    (a_record('b'), '', compare.NONE_THERE, 'refused there', 'here: b'),
    (a_record(outcome=REFUSED), '', compare.BOTH_REFUSE, None, None),
    (a_record(outcome=REFUSED), 'd', compare.NONE_HERE, 'ComputeFilter',
     'ComputeFilter refuses d'),
    (a_plain_record(offer=NO_CANDIDATES), 'a', compare.NONE_HERE,
     compare.OFFERED, 'Placement did not offer a'),
    (a_plain_record(), 'a', compare.NONE_HERE, 'refused before any filter',
     'live: a'),
    # A failure of Placement is no refusal of a host.
    (a_plain_record(offer=NoCandidates('It hangs')), 'a', compare.FAILED,
     'Placement', 'see the log for why Placement named no candidates'),
    (a_plain_record(offer=NoCandidates('It hangs')), '', compare.BOTH_REFUSE,
     None, None),
    (a_record(outcome=decision.FAILED), '', compare.FAILED, 'error',
     'see the log for the error'),
    # A driver without weights draws at random, or has no list of hosts.
    (a_plain_record('a', state=State(hosts=6, names=(
        Labels.of(HOSTS), Labels.of(HOSTS)))), 'c', compare.EQUALS, None,
     None),
    (a_plain_record('a'), 'z', compare.EQUALS, None, None)])
def test_verdict_has_its_cause(record, there, expected, rule, why):
    if expected == compare.EQUALS and record.state.names:
        there = LiveDecision(((there, None),))
    else:
        there = live(there)
    assert compare.compare(record, there) == Comparison(expected, rule, why)


@pytest.mark.parametrize(('host', 'otherwise'), [
    ('a', compare.SAME), ('c', compare.LOWER)])
def test_decisions_on_changed_state_are_not_comparable(host, otherwise):
    assert compare.compare(
        a_record('a'), live(host), changes=['RAM of a', 'disk of a']) == (
        compare.NOT_COMPARABLE, 'state moved', 'RAM of a; disk of a',
        otherwise)


def test_unseen_decision_is_not_comparable():
    assert compare.compare(a_record('a'), LiveDecision(unseen='why')) == (
        Comparison(compare.NOT_COMPARABLE, 'not seen', 'why'))
