"""The record of a decision."""

import numpy as np

from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import WeigherPart
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


class SizeFilter:
    """Rejects for a reason that counts what it is given."""

    def reason(self, hosts, spec_obj):
        return f'{len(hosts)} too small'


class SilentFilter:
    def reason(self, hosts, spec_obj):
        return ''


def a_decision(hosts):
    return Decision('req-1', 'uuid', 1, 0, hosts=hosts)


def rows(*numbers):
    return np.array(numbers, dtype=int)


def reasons(decision, count):
    block = hosts(*(a_host() for _ in range(count)))
    return decision.reasons(block.snapshot, a_request())


def test_counts_the_hosts_that_each_rule_rejected():
    """Most first, with the rule's own words where it has any."""
    decision, size = a_decision(6), SizeFilter()
    decision.step(0, 'ignore_hosts', rows(0, 1, 2, 3, 4, 5),
                  rows(1, 2, 3, 4, 5))
    decision.step(0, SilentFilter(), rows(1, 2, 3, 4, 5), rows(2, 3, 4, 5))
    decision.step(0, size, rows(2, 3, 4, 5), rows(5))
    decision.step(1, size, rows(5), rows())

    assert reasons(decision, 6) == (
        '0 of 6 hosts: 4 SizeFilter (4 too small), 1 ignore_hosts, '
        '1 SilentFilter')


def test_hosts_that_were_not_rejected_are_counted_too():
    decision = a_decision(3)
    decision.step(0, 'service up', rows(0, 1, 2), rows(0, 2))

    assert reasons(decision, 3) == '2 of 3 hosts: 1 service up'


def test_says_that_there_were_no_hosts_at_all():
    assert reasons(a_decision(0), 0) == 'there are no hosts'


def test_says_that_no_host_was_rejected():
    assert reasons(a_decision(5), 5) == 'none of 5 hosts was rejected'


def test_steps_tell_rule_and_counts():
    decision = a_decision(2)
    decision.step(0, SizeFilter(), rows(0, 1), rows(0, 1))

    step, = decision.steps
    assert (step.index, step.name, step.before, step.after) == (
        0, 'SizeFilter', 2, 2)
    assert list(decision.rejected()) == []


def test_times_add_up():
    decision = a_decision(0)
    for _ in range(2):
        with decision.timed('filter'):
            pass

    assert decision.milliseconds['filter'] >= 0.0
    assert list(decision.milliseconds) == ['filter']


def test_a_part_of_a_weight_is_multiplier_times_normalized():
    assert WeigherPart('RAMWeigher', 512.0, 0.5, -2.0).score == -1.0
