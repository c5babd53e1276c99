"""A column of the host table is declared once; all else follows."""

import collections

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
from tests.builders.values import is_fixed

ROW = dict.fromkeys(columns.COMPUTE_NODE_COLUMNS) | {
    'host': 'h', 'hypervisor_hostname': 'n'}


def test_each_has_a_name_of_its_own():
    assert set(collections.Counter(columns.NAMES).values()) == {1}


@pytest.mark.parametrize(('name', 'stored'), [
    ('vcpus_used', np.dtype(np.int64)), ('updated', np.dtype(np.float64)),
    ('service_up', np.dtype(np.bool_)), ('numa_topology', Labels),
    ('stats', list)])
def test_are_arrays_if_they_are_numbers_or_truth_values(name, stored):
    column = hosts(a_host()).snapshot.as_table().columns[name]

    assert getattr(column, 'dtype', type(column)) == stored


@pytest.mark.parametrize('column', columns.COLUMNS, ids=lambda c: c.name)
def test_are_read_from_columns_that_the_database_has(column):
    if column.source is not None:
        table = getattr(tables, column.source.table)
        assert set(column.source.columns) <= set(table.c.keys())


def test_give_what_the_reader_selects_with_the_key_first():
    assert reader.COMPUTE_NODE_COLUMNS == columns.COMPUTE_NODE_COLUMNS
    assert reader.SERVICE_COLUMNS == columns.SERVICE_COLUMNS
    for names in (columns.COMPUTE_NODE_COLUMNS, columns.SERVICE_COLUMNS):
        assert names[0] == 'id'
        assert len(set(names)) == len(names)
    assert {name for column in columns.COLUMNS if column.source
            for name in column.source.columns} <= {
                *columns.COMPUTE_NODE_COLUMNS, *columns.SERVICE_COLUMNS}


def test_that_are_consumed_are_those_that_consuming_changes():
    """Here of a host that has something of everything."""
    snapshot = hosts(a_host(
        numa_topology=cells_text(a_cell(pages=[(4, 524288)])),
        pci_stats=pci_stats(a_pool(count=2)))).snapshot
    before = {name: snapshot.cell(name, 0) for name in columns.NAMES}

    snapshot.consume(0, a_request(
        numa_topology=a_guest(guest_cell(floating=1)),
        pci_requests=pci_requests(a_pci_request())), now=5.0)

    changed = {name for name, value in before.items()
               if snapshot.cell(name, 0) != value}
    assert changed == set(columns.CONSUMED)
    assert changed > set(consumption.COLUMNS)


def test_of_a_host_that_never_reported_are_zero_or_nothing():
    made = rows.record(ROW, 'cell', (1.0, 1.0, 1.0))

    assert {name: made[name] for name in columns.NOT_REPORTED} == (
        columns.NOT_REPORTED)
    assert columns.NOT_REPORTED['free_ram_mb'] == 0
    assert columns.NOT_REPORTED['uuid'] is None
    assert columns.NOT_REPORTED['metrics'] == HostMetrics()
    assert not {'host', 'cpu_allocation_ratio', 'service'} & (
        columns.NOT_REPORTED.keys())


def test_of_services_are_all_made_of_their_rows():
    service = rows.Service(*[None] * len(columns.SERVICE_COLUMNS))

    assert set(rows.service_columns([service])) == {
        column.name for column in columns.COLUMNS if column.of('services')
        } | {'service_fresh'}


def test_are_what_requests_may_ask_for_but_those_that_nova_lacks():
    block = hosts(a_host())

    found = {name for name in columns.NAMES
             if attributes.column(block, name) is not None}

    assert set(columns.NAMES) - found == {
        'service_disabled', 'service_forced_down', 'service_up',
        'service_last_seen', 'service_fresh', 'service_version',
        'bare_metal'}


def test_are_all_in_a_builders_host():
    assert set(a_host()) | {'nodename', 'uuid', 'host'} == set(columns.NAMES)


@pytest.mark.parametrize('number', [2 ** 63, -2 ** 63 - 1])
def test_of_numbers_hold_64_bits(number):
    record = {column.name: 0 for column in columns.COLUMNS
              if column.kind == columns.INTEGER}

    columns.check_record(record | {'vcpus_used': 2 ** 63 - 1})
    with pytest.raises(OverflowError, match=f'vcpus_used = {number} is out'):
        columns.check_record(record | {'vcpus_used': number})


def test_are_declared_for_good():
    for column in columns.COLUMNS:
        assert column.of(column.source.table if column.source else '') is (
            column.source is not None)
        assert is_fixed(column)
