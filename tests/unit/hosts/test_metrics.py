"""Metrics of compute nodes."""

import datetime
import json
import math

import pytest

from nova_sched.hardware import reports
from nova_sched.hosts.metrics import HostMetrics
from tests.builders.values import is_fixed


def metrics(*pairs):
    return HostMetrics(json.dumps(
        [{'name': name, 'value': value} for name, value in pairs]))


@pytest.mark.parametrize(('name', 'value', 'expected'), [
    ('cpu.percent', 0.256, 25), ('cpu.user.percent', 0.29, 28),
    ('cpu.kernel.percent', 1, 100), ('cpu.idle.percent', 0.999, 99),
    ('cpu.iowait.percent', -0.5, -50), ('cpu.frequency', 1600, 1600),
    ('cpu.user.time', 2.9, 2), ('my.percent', 0.9, 0), ('a', '12', 12),
])
def test_values_are_whole_numbers(name, value, expected):
    """Truncated; the five percentages are reported as fractions."""
    assert metrics((name, value)).value(name) == expected


def test_the_later_of_two_values_counts():
    assert metrics(('a', 1), ('a', 2)).values == {'a': 2.0}


def test_a_metric_without_a_number_is_missing():
    """Such as memory bandwidths, which are a table."""
    found = HostMetrics('[{"name": "numa.membw.max", '
                        '"numa_membw_values": {"0": "10"}}]')

    assert found.values == {}
    assert math.isnan(found.value('numa.membw.max'))


@pytest.mark.parametrize('text', [
    'x', '{"a": 1}', '3', '[' * 100000, '[1]', '[{"value": 1}]',
    '[{"name": "a", "value": "many"}]', '[{"name": "a", "value": [1]}]',
    '[{"name": "a", "value": NaN}]', '[{"name": "a", "value": Infinity}]',
    '[{"name": ["a"], "value": 1}]',
    pytest.param('[{"name": "a", "value": 1%s}]' % ('0' * 400), id='big')])
def test_unreadable_metrics_count_as_absent(text, caplog):
    """With one warning a cause."""
    reports.warn_once.cache_clear()

    assert HostMetrics(text).values == HostMetrics(text).values == {}
    assert len(caplog.records) == 1


def test_a_cause_is_logged_once_for_all_values(caplog):
    """Monitors report new values every minute."""
    reports.warn_once.cache_clear()

    for number in range(9):
        assert metrics(('a', f'{number}%'), ('b', number)).values == {
            'b': number}

    assert caplog.messages == [
        'A compute node row holds unreadable metrics, which count as absent: '
        'the value of a is no number']


@pytest.mark.parametrize('text', [None, '', '[]'])
def test_empty_texts_have_no_metrics(text):
    assert HostMetrics(text).values == {}
    assert HostMetrics(text).listed() == []


def test_equal_texts_are_equal_metrics():
    """So that hosts with the same metrics share one label."""
    assert metrics(('a', 1)) == metrics(('a', 1))
    assert len({metrics(('a', 1)), metrics(('a', 1))}) == 1


def test_are_objects_for_plug_ins():
    """With the values of rules; entries without a name are left out."""
    found = HostMetrics(json.dumps([
        {'name': 'cpu.percent', 'value': 0.29, 'source': 's',
         'timestamp': '2026-01-02T03:04:05.5'},
        {'name': 'numa.membw.max', 'numa_membw_values': {'0': 10}},
        {'name': 'odd', 'value': 'many', 'timestamp': 'noon'},
        {'value': 1}, 7])).objects()

    assert [{name: getattr(metric, name) for name in metric.fields
             if metric.obj_attr_is_set(name)} for metric in found] == [
        {'name': 'cpu.percent', 'value': 28, 'source': 's',
         'timestamp': datetime.datetime(
             2026, 1, 2, 3, 4, 5, 500000, tzinfo=datetime.UTC)},
        {'name': 'numa.membw.max', 'numa_membw_values': {'0': 10}},
        {'name': 'odd'}]
    assert not HostMetrics(None).objects().objects


def test_are_immutable():
    """Hosts with the same text share them."""
    found = metrics(('a', 1))

    assert is_fixed(found)
    assert found.values is found.values
