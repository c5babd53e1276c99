"""From database rows to records of the host table, also of invalid values."""

import contextlib
import datetime
import json
import math
import sys

import numpy as np
import pytest

from nova_sched.db import reader
from nova_sched.hardware import reports
from nova_sched.hardware.pci.pools import Pools
from nova_sched.hosts import columns as host_columns
from nova_sched.hosts import rows as host_rows
from nova_sched.hosts import values
from tests.builders.drivers import picks
from tests.builders.requests import a_request

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
    ({'pci_stats': '[{"count": 1}]'}, 'pci_stats', Pools.of('[{"count": 1}]')),
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
    ({'stats': '{"num_instances": 9223372036854775808}'}, 'num_instances', 0),
    ({'stats': '{"num_instances": [1]}'}, 'num_instances', 0),
    ({'supported_instances': '{}'}, 'supported_instances', None),
    ({'supported_instances': 'x'}, 'supported_instances', None),
])
def test_unreadable_values_count_as_absent(columns, name, expected, caplog):
    """With one warning a cause."""
    reports.warn_once.cache_clear()
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


BIGGEST, SMALLEST = 2 ** 63 - 1, -2 ** 63

@pytest.mark.parametrize('away, up', [
    (0, True), (60, True), (-60, True), (60.001, False), (-60.001, False)])
def test_a_service_is_up_until_service_down_time_is_over(cloud, away, up):
    """Sixty seconds in the past or future count, and no more.

    For a driver that reads heartbeats; others query the database.
    """
    cloud.load(['a'])
    hosts = cloud.driver('caching_scheduler').host_manager
    table = hosts.view().table
    [seen] = table.columns['service_last_seen'].tolist()

    shown = hosts.snapshot(table, hosts.instances(), now=seen + away)

    assert shown.value('service_up', 0) is up


@pytest.mark.parametrize('number', [BIGGEST, SMALLEST])
@pytest.mark.parametrize('name', ['free_ram_mb', 'vcpus_used', 'num_io_ops'])
def test_the_biggest_numbers_of_64_bits_are_numbers(name, number):
    made = record() | {name: number}

    host_columns.check_record(made)

    assert host_columns.make(name, [number]).tolist() == [number]


@pytest.mark.parametrize('number', [BIGGEST + 1, SMALLEST - 1])
@pytest.mark.parametrize('name', ['free_ram_mb', 'vcpus_used', 'num_io_ops'])
def test_a_bigger_number_makes_no_record(name, number):
    with pytest.raises(OverflowError, match=name):
        host_columns.check_record(record() | {name: number})


@pytest.mark.parametrize('number, counted', [
    (BIGGEST, BIGGEST), (-BIGGEST, -BIGGEST), (BIGGEST + 1, 0),
    (SMALLEST - 1, 0)])
def test_statistics_count_as_far_as_64_bits_do(number, counted):
    made = record(stats=json.dumps({'num_instances': str(number)}))

    assert made['num_instances'] == counted
    host_columns.check_record(made)


@pytest.mark.parametrize('debug', [False, True])
def test_a_list_of_any_depth_costs_its_host_alone(cloud, debug, caplog):
    """Also a list that is just not too deep for the reader."""
    caplog.set_level('DEBUG' if debug else 'INFO', 'nova_sched')
    cloud.load(['a', 'b'])
    driver = cloud.driver()

    for depth in (*_nearly_too_deep(), 10 ** 5):
        cloud.execute('UPDATE compute_nodes SET supported_instances = ? '
                      "WHERE host = 'a'", '[' * depth + ']' * depth)

        assert picks(driver, a_request(
            image_properties={'hw_architecture': 'x86_64'})) == ['b']


def _nearly_too_deep():
    """Depths of lists that can be parsed here, but not in deeper calls."""
    for depth in range(sys.getrecursionlimit(), 0, -1):
        with contextlib.suppress(RecursionError):
            json.loads('[' * depth + ']' * depth)
            return range(depth - 25, depth, 5)
    raise AssertionError


@pytest.mark.parametrize('text, kept', [
    ('[' * 16 + ']' * 16, True), ('[' * 17 + ']' * 17, False),
    ('[{"a": ' * 8 + '1' + '}]' * 8, True),
    ('[{"a": ' * 8 + '[]' + '}]' * 8, False),
    ('[' * 10 ** 5 + ']' * 10 ** 5, False)],
    ids=['16 lists', '17 lists', '8 pairs', 'one more', 'very many'])
def test_deep_lists_are_no_supported_instances(text, kept):
    """Nova's lists have two levels."""
    assert record(supported_instances=text)['supported_instances'] == (
        text if kept else None)


def test_a_host_with_an_unreadable_list_can_be_picked(cloud):
    cloud.load(['a'])
    cloud.execute('UPDATE compute_nodes SET supported_instances = ?',
                  '[' * 10 ** 5)

    assert picks(cloud.driver(), a_request()) == ['a']
    assert np.iinfo(host_columns.DTYPES['free_ram_mb']).max == BIGGEST


BAD = ('text', b'\xff', math.inf, -math.inf, 1.5, 2 ** 31, -2 ** 40, 10 ** 30)
NEEDED = ('vcpus', 'memory_mb', 'local_gb', 'vcpus_used', 'local_gb_used',
          'free_disk_gb')
RATIO_OF = {'cpu': 16.0, 'ram': 1.5, 'disk': 1.0}


@pytest.fixture(autouse=True)
def forgotten_warnings():
    values.warn.cache_clear()


def lines(caplog):
    """The lines about values; other threads log, too."""
    return [record.getMessage() for record in caplog.records
            if record.name == values.LOG.logger.name]


@pytest.mark.parametrize('value', [*BAD, None])
@pytest.mark.parametrize('column', NEEDED)
def test_a_row_without_a_needed_number_is_no_host(column, value):
    """Only the free disk may be null, before the first report."""
    if (column, value) == ('free_disk_gb', None):
        assert record(free_disk_gb=None)['uuid'] is None
        return
    with pytest.raises(values.UnreadableError) as failure:
        record(**{column: value})

    assert str(failure.value).startswith(f'{column} = {value!r}')


@pytest.mark.parametrize('value', BAD)
@pytest.mark.parametrize('column, name, absent', [
    ('free_ram_mb', 'free_ram_mb', 0),
    ('disk_available_least', 'free_disk_mb', 93 * 1024),
    ('hypervisor_version', 'hypervisor_version', None)])
def test_another_invalid_number_counts_as_absent(
        column, name, absent, value, caplog):
    """One line names the host, the column and the value."""
    made = [record(**{column: value}) for _ in range(2)]

    assert [one[name] for one in made] == [absent, absent]
    [line] = lines(caplog)
    assert line.startswith(
        f'Compute node n of host h has {column} = {value!r}')


@pytest.mark.parametrize('value', [
    'text', b'\xff', math.inf, -math.inf, math.nan, -0.5, 1e300])
@pytest.mark.parametrize('resource', RATIO_OF)
def test_an_invalid_ratio_is_that_of_the_configuration(
        resource, value, caplog):
    column = f'{resource}_allocation_ratio'

    for _ in range(2):
        assert record(**{column: value})[column] == RATIO_OF[resource]
    assert len(lines(caplog)) == 1
    assert f'of host h has {column} = {value!r}'[:60] in caplog.text


@pytest.mark.parametrize('column', [
    'hypervisor_type', 'host_ip', 'cpu_info', 'supported_instances'])
def test_bytes_count_as_absent_text(column, caplog):
    assert record(**{column: b'abc'})[column] is None
    assert f"has {column} = b'abc'" in caplog.text


@pytest.mark.parametrize('column', ['uuid', 'host', 'hypervisor_hostname'])
def test_bytes_for_a_name_make_no_host(column):
    with pytest.raises(values.UnreadableError, match=f"{column} = b'abc'"):
        record(**{column: b'abc'})


@pytest.mark.parametrize('value', [0, -1, 2 ** 31 - 1, 4.0])
def test_integers_of_32_bits_are_valid(value, caplog):
    assert record(vcpus=value)['vcpus_total'] == value
    assert not lines(caplog)


@pytest.mark.parametrize('column', NEEDED)
def test_a_row_that_is_no_host_is_logged_once(cloud, column, caplog):
    """Not with each of its reports."""
    values.warn_left_out.cache_clear()
    cloud.load(['a', 'b'])
    cloud.execute(f"UPDATE compute_nodes SET {column} = 'x' WHERE host = 'a'")
    driver = cloud.driver()

    for number in range(3):
        cloud.execute('UPDATE compute_nodes SET disk_available_least = ?',
                      number + 400)
        assert picks(driver, a_request()) == ['b']

    assert [line for line in caplog.messages if 'left out' in line] == [
        'Compute node a of host a is left out: its row cannot be read: '
        f"{column} = 'x', which is no whole number of 32 bits"]
