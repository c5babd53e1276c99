"""Why no host was left, counted by the rule that rejected it."""

import numpy as np

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
    """Rejects for a reason that counts what it is given."""

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


def test_most_come_first_with_the_rule_s_own_words_where_it_has_any():
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


def test_of_more_than_three_rules_the_others_are_counted():
    """Their words would make the line long; callers are told of all."""
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
    assert found.asked.endswith(
        '2 force_hosts, 1 ignore_hosts, 1 force_nodes')


def test_hosts_that_were_not_rejected_are_counted_too():
    record = Decision(state=State(hosts=3))
    record.funnel.step(0, 'service up', rows(0, 1, 2), rows(0, 2))

    assert counted(record, 3) == '2 of 3 hosts: 1 service up'


def test_there_may_be_no_hosts_at_all():
    assert counted(Decision(), 0) == 'there are no hosts'


def test_no_host_may_have_been_rejected():
    assert counted(Decision(state=State(hosts=5)), 5) == (
        'none of 5 hosts was rejected')


def test_a_rule_without_words_does_not_fail_the_answer(caplog):
    record = Decision(state=State(hosts=1))
    record.funnel.step(0, 'BrokenFilter', rows(0), rows())

    assert counted(record, 1) == '0 of 1 hosts: 1 BrokenFilter'
    assert 'BrokenFilter failed to give a reason' in caplog.text


def test_a_caller_is_told_what_a_built_in_was_asked_for(monkeypatch):
    """Nothing of a plug-in: nobody knows what its words are about."""
    record = Decision(state=State(hosts=2))
    record.funnel.step(0, 'SizeFilter', rows(0, 1), rows())
    adapted = row_rules.adapted_filters

    assert both(record, 2, adapted).asked == '0 of 2 hosts: 2 SizeFilter'
    monkeypatch.setattr(SizeFilter, '__module__',
                        'nova_sched.scheduler.filters.size_filter')
    for adapter in (adapted, list):
        assert both(record, 2, adapter).asked == (
            '0 of 2 hosts: 2 SizeFilter (512 wanted)')
