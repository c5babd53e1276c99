"""How the hosts became fewer."""

from nova_sched.page import facts
from nova_sched.page import funnel
from tests.builders import documents


def funnels(*filters, **fields):
    return funnel.funnels(facts.of(documents.a_decision(
        filters=documents.steps(*filters), **fields)))


def test_rules_that_reject_are_stages():
    [found] = funnels(('allocation candidates', 9, 6), ('RamFilter', 6, 2))

    assert [(stage.names, stage.lost) for stage in found.stages] == [
        (['allocation candidates'], 3), (['RamFilter'], 4)]
    assert (found.widest, found.host) == (9, 'a')


def test_rules_in_turn_that_reject_nobody_are_one_stage():
    [found] = funnels(('A', 9, 9), ('B', 9, 9), ('C', 9, 1), ('D', 1, 1))

    assert [stage.names for stage in found.stages] == [
        ['A', 'B'], ['C'], ['D']]


def test_each_instance_has_its_own():
    document = documents.a_decision(
        'refused', instances=2, instance_uuids=documents.UUIDS[:2],
        picks=documents.a_decision()['picks'], filters=[
            *documents.steps(('RamFilter', 6, 2)),
            *documents.steps(('RamFilter', 2, 0), instance=1)])

    assert [(each.instance, each.widest, each.host) for each
            in funnel.funnels(facts.of(document))] == [
        (0, 6, 'a'), (1, 2, None)]


def test_claims_are_its_last_stages():
    [found] = funnels(('RamFilter', 6, 2), claims=[
        {'instance': documents.UUIDS[0], **documents.host(host),
         'taken': taken}
        for host, taken in (('b', False), ('c', None), ('a', True))] + [
        {'instance': 'another', **documents.host('d'), 'taken': True}])

    assert found.claims == [('b', 'refused'), ('c', 'not answered in time'),
                            ('a', 'granted')]


def test_without_a_filter_there_is_none():
    assert funnels() == []


def test_instances_in_turn_that_differ_in_numbers_alone_are_alike():
    document = documents.a_decision('refused', instances=6, filters=[
        step for i, (before, after) in enumerate(
            [(9, 8), (8, 7), (7, 7), (7, 7), (7, 6), (6, 0)])
        for step in documents.steps(('RamFilter', before, after), instance=i)])
    found = funnel.alike(funnel.funnels(facts.of(document)))

    assert [(first.instance, last.instance) for first, last in found] == [
        (0, 1), (2, 3), (4, 5)]
