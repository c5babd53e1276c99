"""What counts as a change of a host between two reads."""

from nova_sched.dry_run import host_changes
from tests.builders import hosts

A, B = ('a', 'a.org'), ('b', 'b.org')


def a_table(**values):
    """The hosts a and b, of which a has these values."""
    return hosts.table(hosts.a_host('a', nodename='a.org', uuid='A',
                                    **values),
                       hosts.a_host('b', nodename='b.org', uuid='B'))


def test_a_column_that_differs_is_told_with_both_values():
    assert host_changes.row_changes(A, a_table(free_ram_mb=4096),
                                    a_table(free_ram_mb=2048)) == [
        'free_ram_mb of a: 4096 became 2048']


def test_other_hosts_do_not_matter():
    assert host_changes.row_changes(B, a_table(free_ram_mb=4096),
                                    a_table(free_ram_mb=2048)) == []


def test_heartbeats_are_no_change():
    assert host_changes.row_changes(A, a_table(), a_table(
        updated=hosts.NOW + 60, service_last_seen=hosts.NOW + 10)) == []


def test_a_host_that_is_taken_out_of_service_has_changed():
    [text] = host_changes.row_changes(
        A, a_table(), a_table(service_disabled=True))

    assert text == 'service_disabled of a: False became True'


def test_a_host_that_is_gone_has_changed():
    gone = a_table().without([0])

    assert host_changes.row_changes(A, a_table(), gone) == ['host a is gone']
    assert host_changes.row_changes(A, gone, gone) == []


def test_a_host_that_came_has_changed():
    assert host_changes.row_changes(A, a_table().without([0]), a_table()) == [
        'host a was not read when it was decided here']


def test_without_a_node_all_nodes_of_the_host_are_looked_at():
    assert len(host_changes.row_changes(('a', None), a_table(num_instances=1),
                                        a_table(num_instances=2))) == 1


def test_of_all_hosts_those_that_differ_are_told_once_each():
    before, after = a_table(), a_table(free_ram_mb=1, vcpus_used=9)

    [text] = host_changes.changed_hosts(before, after)
    assert ' of a: ' in text
    assert host_changes.changed_hosts(before, a_table()) == []


def test_of_other_generations_of_the_same_hosts_those_that_differ_are_told():
    before = a_table()
    after = before.with_cells([1], {'free_ram_mb': [7]})

    assert host_changes.changed_hosts(before, before) == []
    [text] = host_changes.changed_hosts(before, after)
    assert text.startswith('free_ram_mb of b: ')
    assert text.endswith(' became 7')


def test_hosts_that_come_and_go_are_told():
    fewer = a_table().without([0])

    assert host_changes.changed_hosts(a_table(), fewer) == ['host a is gone']
    assert host_changes.changed_hosts(fewer, a_table()) == ['host a has come']
