"""Properties of explanations of any decision."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from nova_sched.explain import matrix as matrices
from nova_sched.explain.host import why_not
from nova_sched.hosts.decision import Decision
from nova_sched.scheduler import attempt
from nova_sched.scheduler.filters import amounts
from nova_sched.scheduler.ranking import Ranker
from tests.builders.examples import examples
from tests.properties.built_ins import CONFIGURED
from tests.properties.built_ins import outcome
from tests.properties.clouds import clouds
from tests.properties.requests import requests

ANY = examples(30)
#: All built-in rules; and some of the filters.
RANKERS = st.sampled_from([Ranker(*rules) for rules in CONFIGURED])
FEW = st.builds(
    lambda rules, which: Ranker([rules[0][i % len(rules[0])] for i in which],
                                rules[1]),
    st.sampled_from(CONFIGURED),
    st.lists(st.integers(0, 40), max_size=5, unique_by=lambda i: i % 35))


def judged(cloud, spec, ranker):
    return matrices.judge(cloud.snapshot(cloud.offer().candidates), spec,
                          ranker, ask_others=True)


def by_host(found, row):
    """The rules that reject a host."""
    return [found.rules[i] for i in np.flatnonzero(found.rejected[:, row])]


def fitting(found):
    return [] if found.errors else found.fitting.tolist()


@given(cloud=clouds(1), spec=requests(narrowing=True), ranker=RANKERS)
@ANY
def test_matrix_equals_verdicts_on_single_hosts(cloud, spec, ranker):
    found = judged(cloud, spec, ranker)
    wrong = {}
    for name, filter_, rejected in zip(found.rules, found.judges,
                                       found.rejected, strict=True):
        if filter_ is not None:
            alone = [outcome(filter_.keep, cloud.block([row]), found.spec_obj)
                     for row in range(len(cloud.records))]
            if (~rejected).tolist() != [bool(each) for each in alone]:
                wrong[name] = alone
    assert not wrong


@given(cloud=clouds(), spec=requests(narrowing=True), ranker=FEW)
@ANY
def test_combinations_add_up_to_all_hosts(cloud, spec, ranker):
    found = judged(cloud, spec, ranker)
    rows = [row for _, of_it in found.combinations for row in of_it.tolist()]

    assert sorted(rows) == [*range(len(cloud.records))]
    for names, of_it in found.combinations:
        assert all(by_host(found, row) == [*names] for row in of_it.tolist())
    fits = [rows for names, rows in found.combinations if not names]
    assert [row for each in fits for row in each.tolist()] == (
        found.fitting.tolist())


@given(cloud=clouds(1), spec=requests(narrowing=True), ranker=FEW)
@ANY
def test_fitting_hosts_are_the_ranked_hosts(cloud, spec, ranker):
    found = judged(cloud, spec, ranker)
    if found.errors:
        return
    snapshot = cloud.snapshot(cloud.offer().candidates)
    own = matrices.private(spec, snapshot)
    ranked = outcome(lambda: ranker.ranked(
        attempt.offered(snapshot.block(), snapshot.offer), own, 0,
        Decision()))
    # A weigher may fail.
    if not isinstance(ranked, type):
        assert sorted(ranked.rows()) == found.fitting.tolist()


@given(cloud=clouds(1), spec=requests(narrowing=True), ranker=FEW)
@ANY
def test_rejected_host_does_not_affect_verdicts_on_others(
        cloud, spec, ranker):
    found = judged(cloud, spec, ranker)
    if found.errors or len(found.fitting) == len(cloud.records):
        return
    gone = int(np.flatnonzero(found.counts)[0])
    left = [row for row in range(len(cloud.records)) if row != gone]
    less = judged(cloud.of(left), spec, ranker)

    assert [by_host(found, row) for row in left] == [
        by_host(less, row) for row in range(len(left))]


@given(cloud=clouds(1), spec=requests(narrowing=True), ranker=FEW)
@ANY
def test_why_not_names_the_rules_that_reject_a_host(cloud, spec, ranker):
    found = judged(cloud, spec, ranker)
    for row in range(len(cloud.records)):
        why = why_not(found, row)

        assert [each.rule for each in why.verdicts] == by_host(found, row)
        assert all(each.reason for each in why.verdicts)
        assert why.error or 1 <= why.rank <= why.among
        assert why.sentences()
        for each in why.verdicts:
            assert all(figure.lacking for figure in each.figures)


@given(cloud=clouds(1), spec=requests(), ranker=RANKERS)
@ANY
def test_filters_of_amounts_reject_exactly_hosts_with_too_little(
        cloud, spec, ranker):
    wrong = {}
    for filter_ in ranker.filters:
        block = cloud.block()
        figures = filter_.figures(block, spec)
        suffices = np.all([figure.suffices for figure in figures], axis=0)
        passes = filter_.keep(block, spec) if isinstance(filter_, (
            amounts.BaseCapacityFilter, amounts.BaseExactFilter,
            amounts.BaseCountFilter)) and not spec.is_rebuild else None
        if passes is not None and passes.tolist() != suffices.tolist():
            wrong[type(filter_).__name__] = passes, suffices
    assert not wrong
