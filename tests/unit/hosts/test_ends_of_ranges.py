"""Values at the ends of their ranges: times, integers, nested lists."""

import contextlib
import json
import sys

import numpy as np
import pytest

from nova_sched.hosts import columns
from tests.builders.drivers import picks
from tests.builders.requests import a_request
from tests.unit.hosts.test_rows import record

BIGGEST, SMALLEST = 2 ** 63 - 1, -2 ** 63

X86 = {'image_properties': {'hw_architecture': 'x86_64'}}


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

    assert shown.cell('service_up', 0) is up


@pytest.mark.parametrize('number', [BIGGEST, SMALLEST])
@pytest.mark.parametrize('name', ['free_ram_mb', 'vcpus_used', 'num_io_ops'])
def test_the_biggest_numbers_of_64_bits_are_numbers(name, number):
    made = record() | {name: number}

    columns.check_record(made)

    assert columns.make(name, [number]).tolist() == [number]


@pytest.mark.parametrize('number', [BIGGEST + 1, SMALLEST - 1])
@pytest.mark.parametrize('name', ['free_ram_mb', 'vcpus_used', 'num_io_ops'])
def test_a_bigger_number_makes_no_record(name, number):
    with pytest.raises(OverflowError, match=name):
        columns.check_record(record() | {name: number})


@pytest.mark.parametrize('number, counted', [
    (BIGGEST, BIGGEST), (-BIGGEST, -BIGGEST), (BIGGEST + 1, 0),
    (SMALLEST - 1, 0)])
def test_statistics_count_as_far_as_64_bits_do(number, counted):
    made = record(stats=json.dumps({'num_instances': str(number)}))

    assert made['num_instances'] == counted
    columns.check_record(made)


@pytest.mark.parametrize('debug', [False, True])
def test_a_list_of_any_depth_costs_its_host_alone(cloud, debug, caplog):
    """Also a list that is just not too deep for the reader."""
    caplog.set_level('DEBUG' if debug else 'INFO', 'nova_sched')
    cloud.load(['a', 'b'])
    driver = cloud.driver()

    for depth in (*_nearly_too_deep(), 10 ** 5):
        cloud.execute('UPDATE compute_nodes SET supported_instances = ? '
                      "WHERE host = 'a'", '[' * depth + ']' * depth)

        assert picks(driver, a_request(**X86)) == ['b']


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
    assert np.iinfo(columns.DTYPES['free_ram_mb']).max == BIGGEST
