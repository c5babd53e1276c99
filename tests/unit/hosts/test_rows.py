"""From database rows to records of the host table."""

import datetime

import pytest

from nova_sched.db import reader
from nova_sched.hardware.pci.pools import Pools
from nova_sched.hosts import columns as host_columns
from nova_sched.hosts import rows as host_rows

RATIOS = (16.0, 1.5, 1.0)
ROW = dict.fromkeys(reader.COMPUTE_NODE_COLUMNS) | {
    'uuid': 'u', 'host': 'h', 'hypervisor_hostname': 'n', 'vcpus': 8,
    'memory_mb': 4096, 'local_gb': 100, 'vcpus_used': 2,
    'memory_mb_used': 512, 'local_gb_used': 7, 'free_ram_mb': 3584,
    'free_disk_gb': 93, 'hypervisor_type': 'QEMU',
    'hypervisor_version': 6002000,
    'updated_at': datetime.datetime(2026, 1, 1)}


def record(**columns):
    return host_rows.record(ROW | columns, 'cell', RATIOS)


def test_a_record_has_every_column_of_compute_nodes():
    from_services = {'service', 'service_disabled', 'service_forced_down',
                     'service_last_seen', 'service_version', 'service_up',
                     'service_fresh', 'aggregates'}

    for columns in ({}, {'free_disk_gb': None}):
        assert set(record(**columns)) == (
            set(host_columns.NAMES) - from_services)


@pytest.mark.parametrize(('columns', 'name', 'expected'), [
    ({}, 'total_usable_ram_mb', 4096),
    ({}, 'disk_mb_used', 7 * 1024),
    ({}, 'free_disk_mb', 93 * 1024),
    ({'disk_available_least': 50}, 'free_disk_mb', 50 * 1024),
    ({'disk_available_least': 200}, 'free_disk_mb', 93 * 1024),
    ({'disk_available_least': -3}, 'free_disk_mb', -3 * 1024),
    ({'disk_available_least': 0}, 'free_disk_mb', 0),
    ({'free_disk_gb': -1}, 'free_disk_mb', -1024),
    ({'free_ram_mb': None}, 'free_ram_mb', 0),
    ({}, 'pci_stats', Pools.of('[]')),
    ({'pci_stats': '[{"count": 1}]'}, 'pci_stats',
     Pools.of('[{"count": 1}]')),
    ({'free_ram_mb': -5}, 'free_ram_mb', -5),
    ({}, 'cpu_allocation_ratio', 16.0),
    ({'cpu_allocation_ratio': 0.0}, 'cpu_allocation_ratio', 16.0),
    ({'cpu_allocation_ratio': 2.5}, 'cpu_allocation_ratio', 2.5),
    ({}, 'ram_allocation_ratio', 1.5),
    ({}, 'disk_allocation_ratio', 1.0),
    ({}, 'cell_uuid', 'cell'),
    ({}, 'updated', 1767225600.0),
    ({'updated_at': None}, 'updated', 0.0),
    ({'stats': '{"num_instances": "4"}'}, 'num_instances', 4),
    ({'stats': '{"io_workload": 3}'}, 'num_io_ops', 3),
    ({'stats': '{"failed_builds": "2"}'}, 'failed_builds', 2),
    ({'stats': None}, 'num_instances', 0),
    ({'stats': '{"a": 1, "b": true, "c": null, "d": [1]}'}, 'stats',
     {'a': '1', 'b': 'True', 'c': None, 'd': [1]}),
    ({'supported_instances': '[]'}, 'supported_instances', '[]'),
])
def test_reads_a_value(columns, name, expected):
    assert record(**columns)[name] == expected


def test_a_row_without_a_report_is_an_empty_host():
    """Its usage is unknown: no uuid, no capacity."""
    found = record(free_disk_gb=None)

    assert found['host'] == 'h'
    assert found['uuid'] is found['hypervisor_type'] is found['stats'] is None
    assert found['total_usable_ram_mb'] == found['vcpus_total'] == 0
    assert found['ram_allocation_ratio'] == 1.5


@pytest.mark.parametrize(('columns', 'name', 'expected'), [
    ({'stats': '{broken'}, 'stats', {}),
    ({'stats': '[1]'}, 'stats', {}),
    ({'stats': '{"num_instances": "many"}'}, 'num_instances', 0),
    ({'stats': '{"num_instances": null}'}, 'num_instances', 0),
    ({'stats': '{"num_instances": 9223372036854775808}'},
     'num_instances', 0),
    ({'stats': '{"num_instances": [1]}'}, 'num_instances', 0),
    ({'supported_instances': '{}'}, 'supported_instances', None),
    ({'supported_instances': 'x'}, 'supported_instances', None),
])
def test_unreadable_values_count_as_absent(columns, name, expected, caplog):
    """With one warning a cause."""
    host_rows._warn_unreadable.cache_clear()
    host_rows._list_text.cache_clear()

    assert record(**columns)[name] == record(**columns)[name] == expected
    assert len(caplog.records) == 1


@pytest.mark.parametrize(('least', 'is_warned'), [
    (93, False), (50, False), (94, True)])
def test_more_free_disk_than_expected_is_warned_about(least, is_warned,
                                                      caplog):
    assert record(disk_available_least=least)['free_disk_mb'] == (
        min(least, 93) * 1024)
    assert caplog.messages == [
        'Host n has more disk space than database expected '
        '(94 GB > 93 GB)'] * is_warned
