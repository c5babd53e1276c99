"""What counts as taken of a host between two decisions."""

from nova_sched.shadow import changes
from tests.builders import hosts

A = ('a', 'a.org')


def a_table():
    """The host a."""
    return hosts.table(hosts.a_host('a', nodename='a.org', uuid='A'))


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
