"""Replies in the versions that the caller's release supports."""

import json
import logging

import pytest

from nova_sched import objects


def a_selection(**limits):
    return objects.Selection(
        compute_node_uuid='u', service_host='h', nodename='n', cell_uuid='c',
        limits=objects.SchedulerLimits.from_dict(limits),
        allocation_request='null', allocation_request_version=None,
        availability_zone='az')


def numa_limits(**more):
    return objects.NUMATopologyLimits(
        cpu_allocation_ratio=16.0, ram_allocation_ratio=1.5, **more)


NETWORKS = objects.NetworkMetadata(physnets={'p'}, tunneled=True)


@pytest.mark.parametrize('caller, version', [
    ('1.0', '1.0'), ('1.5', '1.0'), ('1.8', '1.0'), ('1.11', '1.0'),
    ('1.12', '1.0'), ('1.13', '1.1'), ('1.15', '1.1'), ('1.40', '1.1')])
def test_selection_is_1_1_since_ussuri(caller, version):
    """Older callers would hang with the newer version."""
    (written,), = objects.selection.to_wire([[a_selection()]], caller)

    assert written['nova_object.version'] == version
    assert ('availability_zone' in written['nova_object.data']) == (
        version == '1.1')
    assert 'nova_object.changes' not in written


@pytest.mark.parametrize('caller, networks, version', [
    ('1.0', NETWORKS, '1.0'), ('1.8', None, '1.0'),
    ('1.8', NETWORKS, '1.0'), ('1.11', None, '1.0'),
    ('1.11', NETWORKS, '1.1'), ('1.13', None, '1.1'),
    ('1.15', NETWORKS, '1.1')])
def test_numa_limits_have_the_version_of_the_caller(caller, networks, version):
    """Before Ussuri 1.1 is used only for networks."""
    more = {} if networks is None else {'network_metadata': networks}
    chosen = a_selection(numa_topology=numa_limits(**more))

    (written,), = objects.selection.to_wire([[chosen]], caller)
    reply, = objects.selection.to_dicts([chosen], caller)

    limits = written['nova_object.data']['limits']['nova_object.data']
    numa = limits['numa_topology']
    assert numa == reply['limits']['numa_topology']
    assert numa['nova_object.version'] == version
    assert ('network_metadata' in numa['nova_object.data']) == (
        networks is not None and version == '1.1')


def test_unset_limits_are_null():
    (written,), = objects.selection.to_wire([[a_selection()]], '1.15')

    assert written['nova_object.data']['limits']['nova_object.data'] == {
        'memory_mb': None, 'vcpu': None, 'disk_gb': None,
        'numa_topology': None}


def test_dict_reply_has_set_limits_as_integers():
    assert a_selection(memory_mb=1536.7).to_dict() == {
        'host': 'h', 'nodename': 'n', 'limits': {'memory_mb': 1536}}


def test_order_of_selections_is_kept():
    first, second = a_selection(), a_selection()
    second.service_host = 'other'

    written = objects.selection.to_wire([[first, second], [second]], '1.15')

    assert [[s['nova_object.data']['service_host'] for s in inner]
            for inner in written] == [['h', 'other'], ['other']]


class TestUnknownLimits:

    def test_dict_reply_contains_them(self):
        assert a_selection(mine=4).to_dict()['limits'] == {'mine': 4}

    def test_object_reply_omits_them_with_a_warning(self, caplog):
        with caplog.at_level(logging.WARNING):
            (written,), = objects.selection.to_wire(
                [[a_selection(mine=4)]], '1.15')

        assert 'mine' not in str(written)
        assert 'mine' in caplog.text


def an_envelope(version='1.1', **data):
    return {'nova_object.name': 'NUMATopologyLimits',
            'nova_object.namespace': 'nova', 'nova_object.version': version,
            'nova_object.data': {'cpu_allocation_ratio': 16.0,
                                 'ram_allocation_ratio': 1.5, **data}}


def a_cell(cpus, **more):
    """Return Juno's limits of a cell, with the ratios 16 and 1.5."""
    return {'id': 0, 'cpus': cpus, 'cpu_limit': 64,
            'mem': {'total': 1024, 'limit': 1536}, **more}


class TestNumaLimitsOfThirdParties:
    """Limits in the forms of older releases' filters, also as JSON text."""

    FORMS = [
        an_envelope(), an_envelope('1.0'), an_envelope('1.7', new=[3]),
        {'cpu_allocation_ratio': 16.0, 'ram_allocation_ratio': '1.5'},
        {'cells': [a_cell('0-3')]},
        {'cells': [a_cell(None, cpuset=[0, 1, 2, 3]) | {'id': 1}]},
        # The strictest cell counts; a cell without amounts has no ratio.
        {'cells': [a_cell('0-3', mem={'total': 1, 'limit': 2}),
                   a_cell('4-7', cpu_limit=65.0),
                   a_cell('', cpu_limit=0, mem={'total': 0, 'limit': 0})]},
    ]

    @pytest.mark.parametrize('caller, version', [
        ('1.0', '1.0'), ('1.8', '1.0'), ('1.11', '1.0'), ('1.12', '1.0'),
        ('1.13', '1.1'), ('1.15', '1.1')])
    @pytest.mark.parametrize('form', [*FORMS, *map(json.dumps, FORMS)])
    def test_replies_contain_the_object(self, form, caller, version):
        chosen = a_selection(numa_topology=form)

        (written,), = objects.selection.to_wire([[chosen]], caller)
        flat, = objects.selection.to_dicts([chosen], caller)

        limits = written['nova_object.data']['limits']['nova_object.data']
        assert limits['numa_topology'] == an_envelope(version)
        assert flat['limits'] == {'numa_topology': an_envelope(version)}

    def test_networks_are_kept(self):
        chosen = a_selection(numa_topology=json.dumps(an_envelope(
            network_metadata=NETWORKS.obj_to_primitive())))

        assert chosen.limits.numa_topology.network_metadata.tunneled

    @pytest.mark.parametrize('form', [None, 'null'])
    def test_null_is_no_limit(self, caplog, form):
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
        ({'cells': [a_cell('1', mem={'limit': 1, 'total': 'x'})]},
         'cells[0].mem.total = '),
        ({'cells': [a_cell('1', cpu_limit=[])]}, 'cells[0].cpu_limit'),
        ({'cells': [a_cell(None, cpuset=5)]}, 'cells[0].cpuset = '),
    ])
    def test_invalid_limits_are_omitted_with_one_warning(
            self, caplog, form, cause):
        """The other limits are kept."""
        objects.numa._warn_unreadable.cache_clear()

        for _ in range(3):
            chosen = a_selection(numa_topology=form, vcpu=4, mine=5)

        assert chosen.to_dict()['limits'] == {'vcpu': 4, 'mine': 5}
        [line] = caplog.records
        assert cause in line.getMessage()
