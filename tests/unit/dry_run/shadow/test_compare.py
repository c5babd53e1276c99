"""What a live decision is, held against one made here: each verdict."""

import numpy as np
import pytest

from nova_sched.dry_run.shadow import compare
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


def a_record(*picks, rejected=True, outcome=decision.PLACED):
    """A record of HOSTS: a, b and c weigh WEIGHTS, a filter each refuses d
    and e, and Placement does not offer f.

    picks: hosts of the instances.
    """
    names = Labels.of(HOSTS), Labels.of([f'{host}.org' for host in HOSTS])
    record = Decision(state=State(hosts=len(HOSTS), names=names))
    if rejected:
        for rule, row in ((compare.OFFERED, 5), ('RamFilter', 4),
                          ('ComputeFilter', 3)):
            record.funnel.step(0, rule, np.arange(row + 1), np.arange(row))
    weights = np.array(WEIGHTS)
    for index, host in enumerate(picks):
        row = HOSTS.index(host)
        record.picked(
            Pick(index, f'uuid{index}', host, f'{host}.org', WEIGHTS[row]),
            (), decision.Weights(np.arange(3), weights, None))
    record.close(outcome)
    return record


def live(*hosts):
    return LiveDecision(tuple((host, f'{host}.org') for host in hosts))


def verdict(record, *hosts, **kwargs):
    return compare.compare(record, live(*hosts), **kwargs).verdict


@pytest.mark.parametrize(('here', 'there', 'expected'), [
    ('a', 'a', compare.SAME), ('a', 'b', compare.EQUALS),
    ('ac', 'ca', compare.SAME), ('aa', 'ab', compare.EQUALS),
    ('aa', 'ac', compare.LOWER), ('aaa', 'bcd', compare.REFUSED_HERE)])
def test_the_worst_of_the_hosts_of_all_instances_counts(
        here, there, expected):
    """Whichever instance has which; one that weighs as much agrees."""
    assert verdict(a_record(*here), *there) == expected


@pytest.mark.parametrize(('node', 'is_same'), [(None, True), ('other', False)])
def test_a_node_is_compared_where_it_shows(node, is_same):
    found = compare.compare(a_record('a'), LiveDecision((('a', node),)))

    assert (found.verdict == compare.SAME) is is_same


@pytest.mark.parametrize(('size', 'expected'), [
    (3, compare.EQUALS), (2, compare.LOWER), (9, compare.EQUALS)])
def test_one_of_those_that_are_drawn_among_is_agreement(size, expected):
    """By [filter_scheduler] host_subset_size."""
    assert verdict(a_record('a'), 'c', subset_size=size) == expected


@pytest.mark.parametrize(('host', 'expected', 'rule', 'why'), [
    ('c', compare.LOWER, 'weight',
     'c weighs 2 and is number 3 of 3; a weighs 3'),
    ('d', compare.REFUSED_HERE, 'ComputeFilter', 'ComputeFilter refuses d'),
    ('e', compare.REFUSED_HERE, 'RamFilter', 'RamFilter refuses e'),
    ('f', compare.REFUSED_HERE, compare.OFFERED,
     'Placement did not offer f'),
    ('z', compare.REFUSED_HERE, 'unknown host',
     'z is none of the 6 hosts that were read')])
def test_a_disagreement_has_its_cause(host, expected, rule, why):
    found = compare.compare(a_record('a'), live(host))

    assert (found.verdict, found.rule, found.why) == (expected, rule, why)


def test_both_may_refuse():
    assert verdict(a_record(outcome=decision.REFUSED)) == compare.BOTH_REFUSE


def test_a_refusal_here_alone_is_told_with_what_refuses_the_live_host():
    found = compare.compare(a_record(outcome=decision.REFUSED), live('d'))

    assert (found.verdict, found.rule) == (compare.NONE_HERE, 'ComputeFilter')


@pytest.mark.parametrize(('offer', 'rule'), [
    (NO_CANDIDATES, compare.OFFERED), (None, 'refused before any filter')])
def test_a_refusal_before_any_filter_has_its_cause(offer, rule):
    record = Decision(offer=offer)
    record.close(decision.REFUSED)

    assert compare.compare(record, live('a')).rule == rule


def test_where_placement_fails_it_refuses_nobody():
    """An error, unless the live scheduler found nothing either."""
    record = Decision(offer=NoCandidates('Placement does not answer'))
    record.close(decision.REFUSED)

    found = compare.compare(record, live('a'))
    assert (found.verdict, found.rule) == (compare.FAILED, 'Placement')
    assert verdict(record) == compare.BOTH_REFUSE


def test_a_refusal_there_alone_is_told_with_the_host_here():
    found = compare.compare(a_record('b'), live())

    assert (found.verdict, found.why) == (compare.NONE_THERE, 'here: b')


def test_an_error_here_is_no_refusal():
    """And no movement of hosts excuses it."""
    record = a_record(outcome=decision.FAILED)

    assert verdict(record) == compare.FAILED
    assert verdict(record, 'a', changes=['a moved']) == compare.FAILED


@pytest.mark.parametrize(('host', 'otherwise'), [
    ('a', compare.SAME), ('c', compare.LOWER)])
def test_what_moved_cannot_be_compared(host, otherwise):
    """Not even agreement; what it looks like is there as well."""
    found = compare.compare(a_record('a'), live(host),
                            changes=['RAM of a', 'disk of a'])

    assert (found.verdict, found.otherwise, found.why) == (
        compare.NOT_COMPARABLE, otherwise, 'RAM of a; disk of a')


def test_what_does_not_show_cannot_be_compared():
    found = compare.compare(a_record('a'), LiveDecision(unseen='nobody knows'))

    assert (found.verdict, found.rule, found.why) == (
        compare.NOT_COMPARABLE, 'not seen', 'nobody knows')


def test_all_that_can_be_drawn_are_equals():
    """A driver that weighs nothing keeps no weights."""
    record = a_record(rejected=False)
    record.picked(Pick(0, 'uuid0', 'a', 'a.org'))
    record.outcome = decision.PLACED

    assert verdict(record, 'c') == compare.EQUALS


def test_a_driver_that_names_no_hosts_knows_them_all():
    record = Decision()
    record.picked(Pick(0, 'uuid0', 'a', 'a.org'))
    record.close(decision.PLACED)

    assert verdict(record, 'z') == compare.EQUALS


def test_a_host_that_was_not_weighed_is_no_good_one():
    """No rule refused it, but it is not among those that are kept."""
    found = compare.compare(a_record('a', rejected=False), live('d'))

    assert (found.verdict, found.rule, found.why) == (
        compare.LOWER, 'weight', 'd is not among the best 3')


@pytest.mark.parametrize(('less', 'expected'), [
    (1e-10, compare.EQUALS), (1e-8, compare.LOWER)])
def test_what_rounding_makes_of_a_weight_is_no_difference(
        monkeypatch, less, expected):
    monkeypatch.setattr(f'{__name__}.WEIGHTS', [3.0, 3.0 - less, 2.0])

    assert verdict(a_record('a'), 'b') == expected
