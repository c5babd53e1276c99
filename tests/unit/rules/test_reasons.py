"""The reason of a refusal: hosts counted by the rule that rejected them."""

import numpy as np
import pytest

from nova_sched.compat import row_rules
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import State
from nova_sched.rules import phrases
from nova_sched.rules import reasons
from nova_sched.scheduler import filters
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


class SizeFilter(filters.BaseHostFilter):
    """A reason with the number of hosts."""

    def reason(self, hosts, spec_obj):
        return phrases.Reason(f'{spec_obj.memory_mb} wanted',
                              f'{len(hosts)} too small')


class SilentFilter(filters.BaseHostFilter):
    pass


class BrokenFilter(filters.BaseHostFilter):
    def reason(self, hosts, spec_obj):
        raise ValueError('lost for words')


def rows(*numbers):
    return np.array(numbers, dtype=int)


def counted(record, count):
    return both(record, count).full


def both(record, count, adapted=lambda filters: filters):
    block = hosts(*(a_host() for _ in range(count)))
    return reasons.counted(
        record, adapted([SizeFilter(), SilentFilter(), BrokenFilter()]),
        block.snapshot, a_request())


def test_the_most_frequent_rule_comes_first_with_its_reason():
    record = Decision(state=State(hosts=6))
    record.funnel.step(0, 'ignore_hosts', rows(0, 1, 2, 3, 4, 5),
                rows(1, 2, 3, 4, 5))
    record.funnel.step(0, 'SilentFilter', rows(1, 2, 3, 4, 5),
                       rows(2, 3, 4, 5))
    record.funnel.step(0, 'SizeFilter', rows(2, 3, 4, 5), rows(5))
    record.funnel.step(1, 'SizeFilter', rows(5), rows())

    assert counted(record, 6) == (
        '0 of 6 hosts: 4 SizeFilter (512 wanted, 4 too small), '
        '1 ignore_hosts, 1 SilentFilter')


def test_rules_beyond_three_are_counted():
    """To keep the line short; callers see all rules."""
    record = Decision(state=State(hosts=11))
    left = rows(*range(11))
    for number, name in ((4, 'SizeFilter'), (3, 'SilentFilter'),
                         (1, 'ignore_hosts'), (2, 'force_hosts'),
                         (1, 'force_nodes')):
        record.funnel.step(0, name, left, left[number:])
        left = left[number:]

    found = both(record, 11)

    assert found.full == (
        '0 of 11 hosts: 4 SizeFilter (512 wanted, 4 too small), '
        '3 SilentFilter, 2 force_hosts, and 2 more reasons for 2 hosts')
    assert found.amounts.endswith(
        '2 force_hosts, 1 ignore_hosts, 1 force_nodes')


def test_hosts_may_be_left_or_missing():
    left = Decision(state=State(hosts=3))
    left.funnel.step(0, 'service up', rows(0, 1, 2), rows(0, 2))

    assert counted(left, 3) == '2 of 3 hosts: 1 service up'
    assert counted(Decision(), 0) == 'there are no hosts'
    assert counted(Decision(state=State(hosts=5)), 5) == (
        'none of 5 hosts was rejected')


def test_an_error_in_a_reason_does_not_fail_the_refusal(caplog):
    record = Decision(state=State(hosts=1))
    record.funnel.step(0, 'BrokenFilter', rows(0), rows())

    assert counted(record, 1) == '0 of 1 hosts: 1 BrokenFilter'
    assert 'BrokenFilter failed to give a reason' in caplog.text


def test_callers_see_the_need_of_built_in_filters_only(monkeypatch):
    """Reasons of plug-ins may contain anything."""
    record = Decision(state=State(hosts=2))
    record.funnel.step(0, 'SizeFilter', rows(0, 1), rows())
    adapted = row_rules.adapted_filters

    assert both(record, 2, adapted).amounts == '0 of 2 hosts: 2 SizeFilter'
    monkeypatch.setattr(SizeFilter, '__module__',
                        'nova_sched.scheduler.filters.size_filter')
    for adapter in (adapted, list):
        assert both(record, 2, adapter).amounts == (
            '0 of 2 hosts: 2 SizeFilter (512 wanted)')


@pytest.mark.parametrize('texts', [
    ['fake-0009', 'fake-9', 'fake-10', 'fake-9998', 'fake-10000'],
    ['', '2', '10', 'a', 'a1b9', 'a1b10', 'a2'],
    ['rack1-host2', 'rack1-host10', 'rack10-host1'],
    ['1' * 5000, '2' * 5000]], ids=['hosts', 'parts', 'racks', 'long'])
def test_texts_are_sorted_by_their_numbers(texts):
    assert sorted(set(texts), key=phrases.natural) == texts


def test_long_lists_show_the_first_items():
    assert phrases.listed(f'h{number}' for number in range(8, 15)) == (
        'h8, h9, h10, h11, h12 and 2 more')
