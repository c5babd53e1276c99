"""Replies speak the caller's release."""

import json
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


def an_envelope(version='1.1', **data):
    """NUMATopologyLimits as they travel."""
    return {'nova_object.name': 'NUMATopologyLimits',
            'nova_object.namespace': 'nova', 'nova_object.version': version,
            'nova_object.data': {'cpu_allocation_ratio': 16.0,
                                 'ram_allocation_ratio': 1.5, **data}}


def a_cell(cpus, **more):
    """One cell of limits as Juno wrote them: 16 CPUs on one, 1.5 GB on 1."""
    return {'id': 0, 'cpus': cpus, 'cpu_limit': 64,
            'mem': {'total': 1024, 'limit': 1536}, **more}


class TestNumaLimitsOfThirdParties:
    """Filters of the first releases with NUMA wrote JSON text."""

    FORMS = [
        an_envelope(), an_envelope('1.0'), an_envelope('1.7', new=[3]),
        {'cpu_allocation_ratio': 16.0, 'ram_allocation_ratio': '1.5'},
        {'cells': [a_cell('0-3')]},
        {'cells': [a_cell(None, cpuset=[0, 1, 2, 3]) | {'id': 1}]},
        # The strictest one counts; one without CPUs has none to share.
        {'cells': [a_cell('0-3'), a_cell('4-7', cpu_limit=65.0),
                   a_cell('', cpu_limit=0)]},
    ]

    @pytest.mark.parametrize('caller, version', [
        ('1.0', '1.0'), ('1.8', '1.0'), ('1.11', '1.0'), ('1.12', '1.0'),
        ('1.13', '1.1'), ('1.15', '1.1')])
    @pytest.mark.parametrize('form', [
        *FORMS, *map(json.dumps, FORMS)])
    def test_reach_callers_as_the_object_that_they_know(
            self, form, caller, version):
        """In both forms of a reply."""
        chosen = a_selection(numa_topology=form)

        (written,), = objects.selection.to_wire([[chosen]], caller)
        flat, = objects.selection.to_dicts([chosen], caller)

        limits = written['nova_object.data']['limits']['nova_object.data']
        assert limits['numa_topology'] == an_envelope(version)
        assert flat['limits'] == {'numa_topology': an_envelope(version)}

    def test_keep_what_they_say_of_networks(self):
        chosen = a_selection(numa_topology=json.dumps(an_envelope(
            network_metadata=NETWORKS.obj_to_primitive())))

        assert chosen.limits.numa_topology.network_metadata.tunneled

    @pytest.mark.parametrize('form', [None, 'null'])
    def test_may_be_none(self, caplog, form):
        assert a_selection(numa_topology=form).to_dict()['limits'] == {}
        assert not caplog.records

    @pytest.mark.parametrize('form, cause', [
        ('{"cells": ', "numa_topology = '{"), ('', 'must be JSON text'),
        ('[' * 100000, 'must be JSON text'),
        (7, 'numa_topology = 7'), (object(), 'numa_topology = <object>'),
        ([], 'numa_topology = <list'), ({}, 'cpu_allocation_ratio'),
        ({'cpu_allocation_ratio': 16.0}, 'ram_allocation_ratio: is missing'),
        (an_envelope('2.0'), '2.0'),
        (an_envelope(cpu_allocation_ratio='many'), 'cpu_allocation_ratio'),
        (an_envelope(ram_allocation_ratio=None), 'ram_allocation_ratio'),
        ({'cells': 5}, 'numa_topology.cells = 5'),
        ({'cells': []}, 'cpu_allocation_ratio: is missing'),
        ({'cells': [3]}, 'numa_topology.cells[0]'),
        ({'cells': [a_cell('x')]}, "numa_topology.cells[0].cpus = 'x'"),
        ({'cells': [a_cell('1', mem=3)]}, 'cells[0].mem.limit: is missing'),
        ({'cells': [a_cell('1', cpu_limit=[])]}, 'cells[0].cpu_limit'),
    ])
    def test_are_left_out_when_they_cannot_be_read(
            self, caplog, form, cause):
        """With one warning for each cause, and the other limits."""
        objects.numa._warn_unreadable.cache_clear()

        for _ in range(3):
            chosen = a_selection(numa_topology=form, vcpu=4, mine=5)

        assert chosen.to_dict()['limits'] == {'vcpu': 4, 'mine': 5}
        [line] = caplog.records
        assert cause in line.getMessage()
