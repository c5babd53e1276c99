"""Numbers of claims that meet any of several queries."""

import numpy as np

from nova_sched.capacity.providers import claims_of_any
from nova_sched.scheduler.instance_counts import UNLIMITED


def counts(*granted):
    """Claims of dedicated and shared CPUs by two nodes: rule -> list."""
    return {rule.name: rule.counts.tolist() for rule in claims_of_any([
        ({name: np.array(values) for name, values in times.items()},
         None if meets is None else np.array(meets))
        for times, meets in granted], 2)}


PINNED = {'PCPU': [2, 5], 'MEMORY_MB': [9, 9]}
FLOATING = {'VCPU': [4, 7], 'MEMORY_MB': [9, 9]}


def test_claims_of_both_queries_add_up_where_a_node_meets_both():
    assert counts((PINNED, [1, 0]), (FLOATING, [1, 1])) == {
        'Placement PCPU': [6, 7], 'Placement MEMORY_MB': [9, 9],
        'Placement': [UNLIMITED, UNLIMITED]}


def test_bound_has_the_claims_of_all_queries():
    """Conditions that are not known count as met."""
    assert counts((PINNED, None), (FLOATING, [0, 1])) == {
        'Placement PCPU': [2, 12], 'Placement MEMORY_MB': [9, 9]}


def test_query_without_amounts_has_no_limit():
    assert counts(({}, None)) == {}
