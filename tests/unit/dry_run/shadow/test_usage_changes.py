"""What others hold of a provider, compared between two decisions."""

import pytest

from nova_sched.dry_run.shadow import changes
from tests.builders import hosts

A = ('a', 'a.org')


def test_the_provider_of_a_host_is_its_compute_node():
    table = hosts.table(hosts.a_host('a', nodename='a.org', uuid='A'))

    assert changes.provider_of(A, table) == 'A'
    assert changes.provider_of(('c', None), table) is None
    assert changes.provider_of(A, None) is None


@pytest.mark.parametrize(('before', 'now', 'held', 'changed'), [
    ({'VCPU': 2, 'DISK_GB': 0}, {'x': {'VCPU': 2}}, {}, None),
    ({'VCPU': 2}, {'x': {'VCPU': 1}, 'y': {'VCPU': 2}}, {}, '2 became 3'),
    ({'VCPU': 2}, {}, {}, '2 became 0'),
    # The claim of the request itself is no change, if it is a later one.
    ({'VCPU': 2}, {'x': {'VCPU': 2}, 'me': {'VCPU': 4}}, {}, None),
    ({'VCPU': 6}, {'x': {'VCPU': 2}, 'me': {'VCPU': 4}}, {}, '6 became 2'),
    ({'VCPU': 3}, {'x': {'VCPU': 2}, 'me': {'VCPU': 1}}, {'VCPU': 1}, None),
    # A class that Placement did not list before is not compared.
    ({'VCPU': 2}, {'x': {'VCPU': 2, 'VGPU': 1}}, {}, None)])
def test_the_usage_by_others_must_be_as_before(before, now, held, changed):
    assert changes.usage_changes('a', before, now, {'me'}, held) == (
        [f'VCPU of a taken by others in Placement: {changed}']
        if changed else [])
