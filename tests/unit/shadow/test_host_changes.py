"""What counts as a change of a host between two decisions."""

from nova_sched.shadow import changes
from tests.builders import hosts

A, B = ('a', 'a.org'), ('b', 'b.org')


def a_table(**values):
    """The hosts a and b, of which a has these values."""
    return hosts.table(hosts.a_host('a', nodename='a.org', uuid='A',
                                    **values),
                       hosts.a_host('b', nodename='b.org', uuid='B'))


def test_a_column_that_differs_is_told_with_both_values():
    assert changes.row_changes(A, a_table(free_ram_mb=4096),
                      a_table(free_ram_mb=2048)) == [
        'free_ram_mb of a: 4096 became 2048']


def test_other_hosts_do_not_matter():
    assert changes.row_changes(B, a_table(free_ram_mb=4096),
                      a_table(free_ram_mb=2048)) == []


def test_heartbeats_are_no_change():
    assert changes.row_changes(A, a_table(), a_table(
        updated=hosts.NOW + 60, service_last_seen=hosts.NOW + 10)) == []


def test_a_host_that_is_taken_out_of_service_has_changed():
    [text] = changes.row_changes(A, a_table(), a_table(service_disabled=True))

    assert text == 'service_disabled of a: False became True'


def test_a_host_that_is_gone_has_changed():
    gone = a_table().without([0])

    assert changes.row_changes(A, a_table(), gone) == ['host a is gone']
    assert changes.row_changes(A, gone, gone) == []


def test_a_host_that_came_has_changed():
    assert changes.row_changes(A, a_table().without([0]), a_table()) == [
        'host a was not read when it was decided here']


def test_without_a_node_all_nodes_of_the_host_are_looked_at():
    assert len(changes.row_changes(('a', None), a_table(num_instances=1),
                          a_table(num_instances=2))) == 1


def test_the_provider_of_a_host_is_its_compute_node():
    assert changes.provider_of(A, a_table()) == 'A'
    assert changes.provider_of(('c', None), a_table()) is None
    assert changes.provider_of(A, None) is None


def taken(before, now, consumers=('me',), held=None):
    return changes.usage_changes(
        'a', before, now, set(consumers), held or {})


def test_what_others_hold_of_a_provider_must_be_as_before():
    before = {'VCPU': 2, 'DISK_GB': 0}

    assert taken(before, {'x': {'VCPU': 2}}) == []
    assert taken(before, {'x': {'VCPU': 1}, 'y': {'VCPU': 2}}) == [
        'VCPU of a taken by others in Placement: 2 became 3']
    assert taken(before, {}) == [
        'VCPU of a taken by others in Placement: 2 became 0']


def test_the_live_claim_of_the_request_itself_is_no_change():
    assert taken({'VCPU': 2}, {'x': {'VCPU': 2}, 'me': {'VCPU': 4}}) == []


def test_a_live_claim_that_was_there_before_is_one():
    """It was made before the candidates were asked for."""
    assert taken({'VCPU': 6}, {'x': {'VCPU': 2}, 'me': {'VCPU': 4}}) == [
        'VCPU of a taken by others in Placement: 6 became 2']


def test_a_class_of_which_placement_did_not_tell_is_not_looked_at():
    assert taken({'VCPU': 2}, {'x': {'VCPU': 2, 'VGPU': 1}}) == []


def test_what_the_instance_held_already_is_none():
    assert taken({'VCPU': 3}, {'x': {'VCPU': 2}, 'me': {'VCPU': 1}},
                 held={'VCPU': 1}) == []
