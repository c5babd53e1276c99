"""Properties of all built-in filters and weighers, on any hosts.

Each example runs all of them, in one of several configurations.
"""

import contextlib
import copy
import logging
import math

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_sched import filters as base_filters
from nova_sched import weights as base_weights
from nova_sched.hosts import columns as host_columns
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import State
from nova_sched.plugins import loading as plugins
from nova_sched.rules import nova_classes
from tests.builders.examples import examples
from tests.builders.hosts import one
from tests.builders.rules import a_conf
from tests.properties.built_ins import CONFIGURED
from tests.properties.built_ins import named
from tests.properties.built_ins import outcome
from tests.properties.clouds import blocks
from tests.properties.clouds import clouds
from tests.properties.requests import requests

ANY = examples(200)
FEWER = examples(80)
RULES = st.sampled_from([
    {**named(filters), **named(weighers)}
    for filters, weighers in CONFIGURED])
FILTERS = st.sampled_from([named(filters) for filters, _ in CONFIGURED])
WEIGHERS = st.sampled_from([weighers for _, weighers in CONFIGURED])


def column(rule, block, spec):
    """The column that a rule returns."""
    return rule.mask(block, spec) if hasattr(rule, 'mask') else rule.raw(
        block, spec)


def answer(rule, block, spec):
    """A rule's verdict and the remaining allocation requests of each host.

    Both columns and plug-ins' methods have them.  Or the class of an error.
    """
    def ask():
        found = column(rule, block, spec).tolist()
        return list(zip(found, [state.allocation_candidates for state
                                in block.states()], strict=True))

    return outcome(ask)


def row_answer(rule, block, spec):
    """The same for one host, by the methods of plug-ins."""
    state, = block.states()

    def ask():
        found = (rule.host_passes(state, spec) if hasattr(rule, 'mask')
                 else rule.clamp(rule._weigh_object(state, spec)))
        return found, state.allocation_candidates

    return outcome(ask)


def agree(together, alone):
    """Whether the answer for all hosts equals the answers for single hosts.

    If single hosts raise, any of these errors is raised for all.
    """
    raised = [one for one in alone if isinstance(one, type)]
    return together in raised if raised else together == alone


def fingerprint(block):
    """All parts of its input that a rule could change."""
    columns = {name: block.objects(name) for name in host_columns.NAMES}
    columns['aggregates'] = [[aggregate.metadata for aggregate in found]
                             for found in columns['aggregates']]
    return columns, block.rows.tolist()


class Formatted(logging.Handler):
    """Formats each record, as a log file would."""

    def emit(self, record):
        record.getMessage()


@contextlib.contextmanager
def no_log():
    """Write no lines at all for a block."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def debug_log():
    """Enable the debug log for a block, without output."""
    logger, handler = logging.getLogger('nova_sched'), Formatted()
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)
    logger.setLevel(level)
    logger.propagate = propagate


@given(data=st.data(), cloud=clouds(1), spec=requests(), rules=RULES)
@ANY
def test_columns_equal_row_by_row_answers(data, cloud, spec, rules):
    """For any other hosts, in any order.

    A column raises exactly if a single host would.
    """
    rows = data.draw(st.permutations(range(len(cloud.records))))
    rows = rows[:data.draw(st.integers(1, len(rows)))]
    wrong = {}
    for name, rule in rules.items():
        together = answer(rule, cloud.block(rows), spec)
        alone = [row_answer(rule, cloud.block([row]), spec) for row in rows]
        if not agree(together, alone):
            wrong[name] = together, alone
    assert not wrong


@given(cloud=clouds(), spec=requests(), rules=RULES)
@ANY
def test_rules_do_not_change_their_input(cloud, spec, rules):
    block = cloud.block()
    before, request = copy.deepcopy(fingerprint(block)), repr(spec)
    changing = []
    for name, rule in rules.items():
        outcome(column, rule, block, spec)
        if (fingerprint(block), repr(spec)) != (before, request):
            changing.append(name)
    assert not changing


@given(cloud=clouds(1), spec=requests(), rules=RULES)
@ANY
def test_rules_read_only_their_declared_inputs(cloud, spec, rules):
    """Except host names in log lines, and any column for the debug log and
    for errors.
    """
    undeclared = {}
    for name, rule in rules.items():
        block = cloud.block()
        read = columns_read(block.snapshot)
        with no_log():
            found = outcome(column, rule, block, spec)
        if isinstance(found, type):
            continue
        read -= {'host', 'nodename', *rule.inputs_for(spec)}
        if read:
            undeclared[name] = read
    assert not undeclared


def columns_read(snapshot):
    """The columns of a HostSnapshot that are read from now on: set."""
    read = set()

    def noted(ask):
        def reading(name, *row):
            read.add(name)
            return ask(name, *row)
        return reading

    snapshot.column = noted(snapshot.column)
    snapshot.value = noted(snapshot.value)
    return read


@given(cloud=clouds(), spec=requests(), rules=RULES)
@FEWER
def test_columns_have_a_value_a_host_of_the_right_type(cloud, spec, rules):
    for name, rule in rules.items():
        found = outcome(column, rule, cloud.block(), spec)
        if not isinstance(found, type):
            assert found.shape == (len(cloud.records),), name
            assert found.dtype == (np.bool_ if hasattr(rule, 'mask')
                                   else np.float64), name
            assert not np.isnan(found).any(), name


@given(cloud=clouds(1), spec=requests(), rules=RULES)
@FEWER
def test_the_debug_log_changes_nothing(cloud, spec, rules):
    def answers():
        return {name: answer(rule, cloud.block(), spec)
                for name, rule in rules.items()}

    expected = answers()
    with debug_log():
        found = answers()
    assert found == expected


def shown(numbers):
    """Numbers with None in place of NaN, so that they can be compared."""
    return [None if math.isnan(number) else number for number in numbers]


@given(block=blocks(), weighers=WEIGHERS)
@ANY
def test_multipliers_equal_row_by_row_answers(block, weighers):
    for name, weigher in named(weighers).items():
        factors = np.broadcast_to(weigher.multipliers(block), len(block))
        assert shown(factors.tolist()) == shown([
            weigher.weight_multiplier(state)
            for state in block.states()]), name


@given(cloud=clouds(1), spec=requests(), rules=FILTERS)
@ANY
def test_each_rejected_host_gets_a_reason(cloud, spec, rules):
    """For single hosts and for all together."""
    for name, rule in rules.items():
        block = cloud.block()
        passes = outcome(rule.mask, block, spec)
        if isinstance(passes, type) or passes.all():
            continue
        rejected = block.where(~passes)
        for words in (rule.reason(rejected, spec), *(
                rule.why_not(state, spec) for state in rejected.states())):
            assert words, name
            assert words.isprintable(), name


@given(block=blocks(min_size=1), spec=requests(), rules=FILTERS)
@FEWER
def test_limits_are_whole_numbers(block, spec, rules):
    for row in range(len(block)):
        for rule in rules.values():
            for name, value in rule.limits(one(block, row), spec).items():
                if name == 'numa_topology':
                    assert value.cpu_allocation_ratio > 0
                else:
                    assert name in ('memory_mb', 'vcpu', 'disk_gb')
                    assert type(value) is int


CHAIN = plugins.load_filters(a_conf())


def run(block, spec):
    decision = Decision(state=State(hosts=len(block)))
    return base_filters.run(
        CHAIN, block, spec, 0, decision), decision


@given(block=blocks(max_size=8), spec=requests())
@FEWER
def test_each_host_passes_or_is_rejected_once(block, spec):
    found = outcome(run, block, spec)

    if not isinstance(found, type):
        left, decision = found
        rejected = [row for _, rows in decision.funnel.rejected()
                    for row in rows.tolist()]
        assert sorted([*left.rows.tolist(), *rejected]) == block.rows.tolist()


def weights(weighers, block, spec):
    return base_weights.weigh(weighers, block, spec)


@given(cloud=clouds(2, 6), spec=requests(), weighers=WEIGHERS)
@FEWER
def test_weights_are_sorted_and_add_up(cloud, spec, weighers):
    """Hosts with a weight of nan, by an aggregate's value, come last."""
    weighed = outcome(weights, weighers, cloud.block(), spec)

    if not isinstance(weighed, type):
        assert sorted(weighed.rows.tolist()) == [*range(len(cloud.records))]
        assert not (weighed.weights[1:] > weighed.weights[:-1]).any()
        for row, weight in zip(weighed.rows.tolist(),
                               weighed.weights.tolist(), strict=True):
            assert weight == pytest.approx(sum(
                normalized * multiplier for _, normalized, multiplier
                in weighed.parts(
                    [weighed.position(row)])[0].tolist()), nan_ok=True)


@given(data=st.data(), cloud=clouds(2, 6), spec=requests(), weighers=WEIGHERS)
@ANY
def test_the_order_of_hosts_changes_nothing_but_ties(data, cloud, spec,
                                                     weighers):
    order = data.draw(st.permutations(range(len(cloud.records))))

    def by_row(rows):
        found = outcome(weights, weighers, cloud.block(rows), spec)
        return found if isinstance(found, type) else dict(zip(
            found.rows.tolist(), shown(found.weights.tolist()), strict=True))

    assert by_row(order) == by_row(sorted(order))


def test_each_rule_of_nova_distinguishes_hosts_of_some_drawn_cloud():
    deciding = set()

    @given(cloud=clouds(2), spec=requests(), rules=RULES)
    @settings(max_examples=400, derandomize=True, database=None)
    def look(cloud, spec, rules):
        for name in rules.keys() - deciding:
            found = outcome(column, rules[name], cloud.block(), spec)
            if not isinstance(found, type) and len(set(found.tolist())) > 1:
                deciding.add(name)

    look()
    every = {name for modules in (nova_classes.FILTER_MODULES,
                                  nova_classes.WEIGHER_MODULES)
             for names in modules.values() for name in names}
    assert every - deciding == {'AllHostsFilter'}
