"""Changes of a host between two reads."""

import pytest

from nova_sched.dry_run import host_changes
from tests.builders import hosts

A, B = ('a', 'a.org'), ('b', 'b.org')


def a_table(**values):
    """A table of the hosts a, with these values, and b."""
    return hosts.table(hosts.a_host('a', nodename='a.org', uuid='A', **values),
                       hosts.a_host('b', nodename='b.org', uuid='B'))


GONE = a_table().without([0])


@pytest.mark.parametrize(('place', 'before', 'after', 'changes'), [
    (A, a_table(free_ram_mb=4096), a_table(free_ram_mb=2048),
     ['free_ram_mb of a: 4096 became 2048']),
    (A, a_table(), a_table(service_disabled=True),
     ['service_disabled of a: False became True']),
    (B, a_table(free_ram_mb=4096), a_table(free_ram_mb=2048), []),
    # Heartbeats are ignored.
    (A, a_table(), a_table(updated=hosts.NOW + 60,
                           service_last_seen=hosts.NOW + 10), []),
    (A, a_table(), GONE, ['host a is gone']), (A, GONE, GONE, []),
    (A, GONE, a_table(), ['host a was not read when it was decided here'])])
def test_changes_have_both_values(place, before, after, changes):
    assert host_changes.row_changes(place, before, after) == changes


def test_all_nodes_are_compared_without_a_node_name():
    assert len(host_changes.row_changes(('a', None), a_table(num_instances=1),
                                        a_table(num_instances=2))) == 1


def test_list_has_one_change_per_host():
    before = a_table()

    [text] = host_changes.changed_hosts(
        before, a_table(free_ram_mb=1, vcpus_used=9))
    assert ' of a: ' in text
    [text] = host_changes.changed_hosts(
        before, before.with_values([1], {'free_ram_mb': [7]}))
    assert text.startswith('free_ram_mb of b: ')
    for same in (before, a_table()):
        assert host_changes.changed_hosts(before, same) == []


def test_added_and_removed_hosts_are_listed():
    fewer = a_table().without([0])

    assert host_changes.changed_hosts(a_table(), fewer) == ['host a is gone']
    assert host_changes.changed_hosts(fewer, a_table()) == ['host a has come']
