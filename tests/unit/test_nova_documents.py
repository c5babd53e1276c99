"""Behavior that differs from documents about Nova's scheduler.

options/test_warnings and plugins/test_loading test misprinted names.
"""


import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.objects import spec_dicts
from tests.builders import drivers
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.hosts import a_host

RAM_ALONE = ['nova.scheduler.weights.ram.RAMWeigher']


def test_a_request_with_min_instances_is_all_or_nothing():
    spec = requests.a_request(num_instances=2, memory_mb=1000)
    asked = spec_dicts.to_request_spec_dict(spec) | {'min_instances': 1}
    driver = MemoryScheduler(a_host('a', free_ram_mb=1500,
                                    total_usable_ram_mb=1500,
                                    ram_allocation_ratio=1.0))

    with pytest.raises(messaging.ExpectedException) as refused:
        drivers.door(driver, text='counts').select_destinations(
            context.RequestContext(), request_spec=asked,
            filter_properties=spec_dicts.to_filter_properties_dict(spec))

    error = refused.value.exc_info[1]
    assert isinstance(error, exception.NoValidHost)
    assert '1 of 2 instances could be placed' in str(error)


@pytest.mark.parametrize(('options', 'best'), [
    ({}, 'quick'), ({'weight_classes': RAM_ALONE}, 'roomy')])
def test_memory_alone_does_not_make_the_best_host_by_default(options, best):
    driver = MemoryScheduler(
        a_host('roomy', free_ram_mb=30001, vcpus_total=8, num_io_ops=4),
        a_host('quick', free_ram_mb=30000, vcpus_total=64, num_io_ops=0),
        enabled_filters=['RamFilter'], **options)

    assert picks(driver, requests.a_request()) == [best]


@pytest.mark.parametrize(('cidr', 'near'), [
    ('24', ['192.168.1.124']), ('/24', ['192.168.1.124', '192.168.1.7'])])
def test_a_cidr_needs_its_slash(cidr, near):
    driver = MemoryScheduler(
        *(a_host(ip, host_ip=ip) for ip in (
            '192.168.1.124', '192.168.1.7', '192.168.2.1')),
        enabled_filters=['SimpleCIDRAffinityFilter'], host_subset_size=9)
    spec = requests.a_request(hints={
        'build_near_host_ip': ['192.168.1.1'], 'cidr': [cidr]})

    selections, = select(driver, spec, return_alternates=True)

    assert sorted(selection.service_host for selection in selections) == near
