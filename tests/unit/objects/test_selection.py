"""Replies speak the caller's release."""

import logging

import pytest

from nova_sched import objects


def a_selection(**limits):
    """A Selection with the limits."""
    return objects.Selection(
        compute_node_uuid='u', service_host='h', nodename='n', cell_uuid='c',
        limits=objects.SchedulerLimits.from_dict(limits),
        allocation_request='null', allocation_request_version=None,
        availability_zone='az')


def numa_limits(**more):
    """Limits with NUMA ratios."""
    return objects.NUMATopologyLimits(
        cpu_allocation_ratio=16.0, ram_allocation_ratio=1.5, **more)


NETWORKS = objects.NetworkMetadata(physnets={'p'}, tunneled=True)


@pytest.mark.parametrize('caller, version', [
    ('1.0', '1.0'), ('1.5', '1.0'), ('1.8', '1.0'), ('1.11', '1.0'),
    ('1.12', '1.0'), ('1.13', '1.1'), ('1.15', '1.1'), ('1.40', '1.1')])
def test_selections_are_1_1_from_ussuri_on(caller, version):
    """Older callers would hang on the newer one."""
    (written,), = objects.selection.to_wire([[a_selection()]], caller)

    assert written['nova_object.version'] == version
    assert ('availability_zone' in written['nova_object.data']) == (
        version == '1.1')
    assert 'nova_object.changes' not in written


@pytest.mark.parametrize('caller, networks, version', [
    ('1.8', None, '1.0'), ('1.8', NETWORKS, '1.0'), ('1.11', None, '1.0'),
    ('1.11', NETWORKS, '1.1'), ('1.13', None, '1.1'),
    ('1.15', NETWORKS, '1.1')])
def test_numa_limits_follow_the_caller(caller, networks, version):
    """1.1 for those that know it, before Ussuri only where it says more."""
    more = {} if networks is None else {'network_metadata': networks}
    chosen = a_selection(numa_topology=numa_limits(**more))

    (written,), = objects.selection.to_wire([[chosen]], caller)

    limits = written['nova_object.data']['limits']['nova_object.data']
    numa = limits['numa_topology']
    assert numa['nova_object.version'] == version
    assert ('network_metadata' in numa['nova_object.data']) == (
        networks is not None and version == '1.1')


@pytest.mark.parametrize('caller, networks, version', [
    ('1.0', NETWORKS, '1.0'), ('1.11', NETWORKS, '1.1'),
    ('1.11', None, '1.0'), ('1.13', None, '1.1'), ('1.15', NETWORKS, '1.1')])
def test_numa_limits_of_a_dict_reply(caller, networks, version):
    """1.1 for those that know it, before Ussuri only where it says more."""
    more = {} if networks is None else {'network_metadata': networks}
    chosen = a_selection(numa_topology=numa_limits(**more))

    written, = objects.selection.to_dicts([chosen], caller)

    assert written['limits']['numa_topology'][
        'nova_object.version'] == version


def test_limits_are_present_with_nulls():
    """Whether or not a filter set one."""
    (written,), = objects.selection.to_wire([[a_selection()]], '1.15')

    assert written['nova_object.data']['limits']['nova_object.data'] == {
        'memory_mb': None, 'vcpu': None, 'disk_gb': None,
        'numa_topology': None}


def test_the_dict_form_has_only_limits_that_are_set():
    """Amounts are cut to whole numbers."""
    assert a_selection(memory_mb=1536.7).to_dict() == {
        'host': 'h', 'nodename': 'n', 'limits': {'memory_mb': 1536}}


def test_lists_keep_their_order():
    """The chosen host first, one list per instance."""
    first, second = a_selection(), a_selection()
    second.service_host = 'other'

    written = objects.selection.to_wire([[first, second], [second]], '1.15')

    assert [[s['nova_object.data']['service_host'] for s in inner]
            for inner in written] == [['h', 'other'], ['other']]


class TestUnknownLimits:

    def test_the_dict_form_keeps_them(self):
        """A third party's filter may set its own."""
        assert a_selection(mine=4).to_dict()['limits'] == {'mine': 4}

    def test_the_object_form_leaves_them_out_with_a_warning(self, caplog):
        """A Nova client could not read them."""
        with caplog.at_level(logging.WARNING):
            (written,), = objects.selection.to_wire(
                [[a_selection(mine=4)]], '1.15')

        assert 'mine' not in str(written)
        assert 'mine' in caplog.text
