"""What holds for every built-in filter and weigher, on any hosts."""

import copy

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_sched import filters as base_filters
from nova_sched import weights as base_weights
from nova_sched.scheduler import host_table
from nova_sched.scheduler import plugins
from nova_sched.scheduler.decision import Decision
from tests.builders.hosts import hosts
from tests.builders.hosts import one
from tests.builders.requests import a_request
from tests.builders.rules import a_conf
from tests.builders.rules import configured
from tests.properties.strategies import blocks
from tests.properties.strategies import requests

FILTERS = [configured(cls) for cls in plugins.all_filters()]
WEIGHERS = [configured(cls) for cls in plugins.all_weighers()]
ANY = settings(max_examples=20, deadline=None)

every_filter = pytest.mark.parametrize('rule', FILTERS, ids=lambda rule: type(
    rule).__name__)
every_weigher = pytest.mark.parametrize(
    'weigher', WEIGHERS, ids=lambda weigher: type(weigher).__name__)
every_rule = pytest.mark.parametrize(
    'rule', FILTERS + WEIGHERS, ids=lambda rule: type(rule).__name__)


def answer(rule, block, spec):
    """The column a rule answers with."""
    return (rule.mask(block, spec) if rule in FILTERS
            else rule.raw(block, spec))


def row_by_row(rule, block, spec):
    """The same, host by host through the methods plug-ins have."""
    ask = (rule.host_passes if rule in FILTERS
           else lambda *args: rule.clamp(rule._weigh_object(*args)))
    return [ask(state, spec) for state in block.states()]


def fingerprint(block):
    """All that a rule could have changed in what it was given."""
    columns = {}
    for name in (*host_table.DTYPES, *host_table.LABELS,
                 *host_table.OBJECTS):
        columns[name] = copy.deepcopy(block.objects(name))
    columns['aggregates'] = [[aggregate.metadata for aggregate in found]
                             for found in block.objects('aggregates')]
    return columns, block.rows.tolist()


def shuffled(block, order):
    return block.snapshot.block(block.rows[order])


@every_rule
@given(block=blocks(), spec=requests())
@ANY
def test_columns_answer_as_row_by_row(rule, block, spec):
    assert answer(rule, block, spec).tolist() == row_by_row(rule, block, spec)


@every_rule
@given(block=blocks(), spec=requests())
@ANY
def test_the_input_is_left_as_it_was(rule, block, spec):
    before, request = fingerprint(block), repr(spec)

    answer(rule, block, spec)

    assert fingerprint(block) == before
    assert repr(spec) == request


@every_rule
@given(block=blocks(max_size=3), spec=requests())
@ANY
def test_shape_and_type(rule, block, spec):
    column = answer(rule, block, spec)

    assert column.shape == (len(block),)
    assert column.dtype == (np.bool_ if rule in FILTERS else np.float64)


@every_rule
def test_no_hosts_give_an_empty_column(rule):
    assert answer(rule, hosts(), a_request()).tolist() == []


@every_rule
@given(data=st.data(), block=blocks(min_size=2), spec=requests())
@ANY
def test_a_host_gets_the_same_answer_among_whatever_others(
        rule, data, block, spec):
    """Neither the order of the hosts matters nor which others there are."""
    order = data.draw(st.permutations(range(len(block))))
    some = order[:data.draw(st.integers(1, len(block)))]

    assert (answer(rule, block, spec)[some].tolist()
            == answer(rule, shuffled(block, some), spec).tolist())


@every_weigher
@given(block=blocks())
@ANY
def test_multipliers_answer_as_row_by_row(weigher, block):
    assert np.broadcast_to(weigher.multipliers(block),
                           len(block)).tolist() == [
        weigher.weight_multiplier(state) for state in block.states()]


@every_filter
@given(block=blocks(min_size=1), spec=requests())
@ANY
def test_every_rejected_host_gets_a_reason(rule, block, spec):
    """One by one and all together."""
    rejected = block.where(~rule.mask(block, spec))
    if len(rejected):
        assert rule.reason(rejected, spec)
    for state in rejected.states():
        words = rule.why_not(state, spec)
        assert words
        assert words.isprintable()


@every_filter
@given(block=blocks(min_size=1), spec=requests())
@ANY
def test_limits_are_whole_numbers(rule, block, spec):
    for row in range(len(block)):
        for name, value in rule.limits(one(block, row), spec).items():
            if name == 'numa_topology':
                assert value.cpu_allocation_ratio > 0
            else:
                assert name in ('memory_mb', 'vcpu', 'disk_gb')
                assert type(value) is int


CHAIN = plugins.load_filters(a_conf())


def run(block, spec):
    decision = Decision(None, None, 1, 0, hosts=len(block))
    return base_filters.FilterHandler().run(
        CHAIN, block, spec, 0, decision), decision


@given(block=blocks(max_size=8), spec=requests())
@ANY
def test_a_host_that_is_left_passes_every_filter_alone(block, spec):
    left, _ = run(block, spec)

    for state in left.states():
        assert all(rule.host_passes(state, spec) for rule in CHAIN)


@given(block=blocks(max_size=8), spec=requests())
@ANY
def test_every_host_is_either_left_or_rejected_once(block, spec):
    left, decision = run(block, spec)

    rejected = [row for _, _, rows in decision.rejected()
                for row in rows.tolist()]
    assert sorted([*left.rows.tolist(), *rejected]) == block.rows.tolist()


@given(block=blocks(max_size=6))
@ANY
def test_weights_are_sorted_and_add_up(block):
    weighed = base_weights.WeightHandler().weigh(WEIGHERS, block, a_request())

    assert sorted(weighed.rows.tolist()) == block.rows.tolist()
    assert (np.diff(weighed.weights) <= 0).all()
    if len(block) > 1:
        for position, weight in enumerate(weighed.weights.tolist()):
            assert weight == pytest.approx(sum(
                part.score for part in weighed.parts(position)))


@given(data=st.data(), block=blocks(min_size=2, max_size=6))
@ANY
def test_the_order_of_hosts_changes_nothing_but_ties(data, block):
    order = data.draw(st.permutations(range(len(block))))

    def weights(block):
        weighed = base_weights.WeightHandler().weigh(
            WEIGHERS, block, a_request())
        return dict(zip(weighed.rows.tolist(), weighed.weights.tolist(),
                        strict=True))

    assert weights(block) == weights(shuffled(block, order))
