"""All hosts, grouped by the rules that reject them."""

import pytest

from nova_sched.page import facts
from nova_sched.page import host_map
from tests.builders import documents


def of(document):
    return host_map.host_map(facts.of(document))


def summary(found):
    """Groups as (label, number of hosts, names)."""
    return [(group.label, group.hosts, [cell.name for cell in group.cells])
            for group in found.groups]


def test_hosts_are_grouped_by_the_first_rule_without_an_explanation():
    found = of(documents.a_decision())

    assert found.by_first
    assert summary(found) == [
        ('fits', 2, ['a', 'b']),
        ('AvailabilityZoneFilter', 2, ['c', 'd (node n)']),
        ('RamFilter', 2, ['e', 'f'])]


def test_hosts_are_grouped_by_all_rules_with_an_explanation():
    found = of(documents.an_explanation(documents.a_decision(), {
        'a': (), 'c': ('X', 'Y', 'Z'), 'd': ('X',), 'e': ('X',)}))

    assert not found.by_first
    assert summary(found) == [('fits', 1, ['a']), ('only X', 2, ['d', 'e']),
                           ('X, Y and Z', 1, ['c'])]
    assert found.groups[1].cells[0].reason == 'X: too little'


def test_hosts_that_fit_have_a_colour_that_no_other_has():
    fitting = of(documents.a_plan({'a': (), 'b': ('X',)}))
    none = of(documents.a_plan({'b': ('X',)}, 'refused'))

    assert [group.place for group in fitting.groups] == [0, 1]
    assert [group.place for group in none.groups] == [1]


def test_many_reasons_end_in_one_group():
    verdicts = {f'{rule}-{number}': (f'Rule{rule}',) for rule in range(12)
                for number in range(20 - rule)}
    found = of(documents.a_plan(verdicts, 'refused'))

    assert [group.hosts for group in found.groups] == [
        20, 19, 18, 17, 16, 15, 14, sum(range(9, 14))]
    assert found.groups[-1].label == '5 other reasons'
    assert found.hosts == len(verdicts)
    assert len({cell.name for group in found.groups
                for cell in group.cells}) == len(verdicts)


def test_picks_and_alternates_are_marked():
    [fits, *_] = of(documents.a_decision()).groups

    assert [(cell.name, cell.mark) for cell in fits.cells] == [
        ('a', 'pick'), ('b', 'alternate')]


def test_hosts_without_a_name_are_counted():
    """Other schedulers may send fewer names."""
    document = documents.a_decision()
    del document['passed']
    document['rejected'][0]['named'] = []

    assert summary(of(document)) == [
        ('AvailabilityZoneFilter', 2, []), ('RamFilter', 2, ['e', 'f'])]


def test_a_rule_has_its_code():
    document = documents.a_plan({'a': (), 'b': ('X', 'Y'), 'c': ('Y',)})

    assert {group.label: group.codes for group in of(document).groups} == {
        'fits': [], 'X and Y': ['x', 'y'], 'only Y': ['y']}


def test_a_host_has_the_code_by_which_it_is_rejected():
    """Disabled hosts and hosts that are down are separate groups of one rule.
    """
    document = documents.a_plan(
        dict.fromkeys('abc', (documents.COMPUTE,)), 'refused')
    document['schedule_info'][0]['filters'][0]['code'] = 'service_disabled'

    assert [(group.codes, group.hosts) for group in of(document).groups] == [
        (['service_down'], 2), (['service_disabled'], 1)]


def test_a_group_by_the_first_rule_has_all_its_codes():
    document = documents.a_plan(
        {'a': (documents.COMPUTE,)}, 'refused', rejected=[{
            'name': documents.COMPUTE, 'hosts': [documents.host('a')]}])
    [rule] = document['why']['matrix']['rules']
    rule['codes'] = {'service_down': 2, 'service_disabled': 1}
    document['schedule_info'] = None

    assert [group.codes for group in of(document).groups] == [
        ['service_down', 'service_disabled']]


def test_without_a_host_there_is_none():
    assert of(documents.a_decision('failed', rejected=[], passed={
        'hosts': 0, 'named': []})) is None


@pytest.mark.parametrize('count, size', [
    (12, 'named'), (80, 'named'), (81, 'large'), (801, 'medium'),
    (3001, 'small')])
def test_cells_are_smaller_the_more_there_are(count, size):
    assert of(documents.a_plan(documents.of_many(count))).size == size


def test_long_reasons_of_many_hosts_are_cut():
    verdicts = documents.of_many(5000)
    document = documents.a_plan(verdicts)
    for each in document['schedule_info']:
        each['reason'] = 'x' * 1000
    found = of(document)

    texts = [cell.reason for group in found.groups for cell in group.cells]
    assert sum(map(len, texts)) <= host_map.MOST_TEXT
    assert texts[0].endswith('x...')
