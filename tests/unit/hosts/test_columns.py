"""Columns of the host table: one declaration serves all their users."""


import numpy as np
import pytest

from nova_sched.db import reader
from nova_sched.db import tables
from nova_sched.hardware import consumption
from nova_sched.hosts import columns
from nova_sched.hosts import rows
from nova_sched.hosts.labels import Labels
from nova_sched.hosts.metrics import HostMetrics
from nova_sched.rules import attributes
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_request

ROW = dict.fromkeys(columns.COMPUTE_NODE_COLUMNS) | {
    'host': 'h', 'hypervisor_hostname': 'n'}


@pytest.mark.parametrize(('name', 'stored'), [
    ('vcpus_used', np.dtype(np.int64)), ('updated', np.dtype(np.float64)),
    ('service_up', np.dtype(np.bool_)), ('numa_topology', Labels),
    ('stats', list)])
def test_columns_of_numbers_and_booleans_are_arrays(name, stored):
    column = hosts(a_host()).snapshot.as_table().columns[name]

    assert getattr(column, 'dtype', type(column)) == stored


@pytest.mark.parametrize('column', columns.COLUMNS, ids=lambda c: c.name)
def test_have_columns_of_the_database_as_sources(column):
    for name in ('compute_nodes', 'services'):
        assert set(getattr(column, name)) <= set(
            getattr(tables, name).c.keys())


def test_determine_the_selected_columns():
    assert reader.COMPUTE_NODE_COLUMNS == columns.COMPUTE_NODE_COLUMNS
    assert reader.SERVICE_COLUMNS == columns.SERVICE_COLUMNS
    assert len(set(columns.NAMES)) == len(columns.NAMES)
    for names in (columns.COMPUTE_NODE_COLUMNS, columns.SERVICE_COLUMNS):
        assert (names[0], len(set(names))) == ('id', len(names))
    assert {name for column in columns.COLUMNS
            for name in (*column.compute_nodes, *column.services)} <= {
                *columns.COMPUTE_NODE_COLUMNS, *columns.SERVICE_COLUMNS}


def test_marked_as_consumed_are_those_changed_by_consumption():
    """On a host with NUMA cells and devices."""
    snapshot = hosts(a_host(
        numa_topology=cells_text(a_cell(pages=[(4, 524288)])),
        pci_stats=pci_stats(a_pool(count=2)))).snapshot
    before = {name: snapshot.value(name, 0) for name in columns.NAMES}

    snapshot.consume(0, a_request(
        numa_topology=a_guest(guest_cell(floating=1)),
        pci_requests=pci_requests(a_pci_request())), now=5.0)

    changed = {name for name, value in before.items()
               if snapshot.value(name, 0) != value}
    assert changed == set(columns.CONSUMED)
    assert changed > set(consumption.COLUMNS)


def test_without_a_report_are_zero_or_null():
    made = rows.record(ROW, 'cell', (1.0, 1.0, 1.0))

    assert {name: made[name] for name in columns.NOT_REPORTED} == (
        columns.NOT_REPORTED)
    assert columns.NOT_REPORTED['free_ram_mb'] == 0
    assert columns.NOT_REPORTED['uuid'] is None
    assert columns.NOT_REPORTED['metrics'] == HostMetrics()
    assert not {'host', 'cpu_allocation_ratio', 'service'} & (
        columns.NOT_REPORTED.keys())


def test_columns_of_services_are_made_from_their_rows():
    service = rows.Service(*[None] * len(columns.SERVICE_COLUMNS))

    assert set(rows.service_columns([service])) == {
        column.name for column in columns.COLUMNS if column.services
        } | {'service_fresh'}


def test_are_attributes_of_requests_except_those_unknown_to_nova():
    block = hosts(a_host())

    found = {name for name in columns.NAMES
             if attributes.column(block, name) is not None}

    assert set(columns.NAMES) - found == {
        'service_disabled', 'service_forced_down', 'service_up',
        'service_last_seen', 'service_fresh', 'service_version',
        'bare_metal'}


def test_are_complete_in_the_test_builders():
    assert set(a_host()) | {'nodename', 'uuid', 'host'} == set(columns.NAMES)
