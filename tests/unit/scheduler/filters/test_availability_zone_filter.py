"""AvailabilityZoneFilter."""

import pytest

from nova_sched.scheduler.filters.availability_zone_filter import (
    AvailabilityZoneFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured


def zoned(*zones):
    return a_host(aggregates=[
        {} if zone is None else {'availability_zone': zone}
        for zone in zones])


@pytest.mark.parametrize(('zones', 'wanted', 'passes'), [
    ((), 'nova', True),
    ((None,), 'nova', True),
    (('z1',), 'z1', True),
    (('z1',), 'nova', False),
    (('z1',), 'Z1', False),
    (('z1', 'z2'), 'z2', True),
    (('z1, z2',), 'z2', True),
    (('z1, z2',), 'z1, z2', False),
    ((None, 'z1'), 'nova', False),
    (('z1', 'nova'), 'nova', True),
    (('',), 'nova', False),
    ((), 'z1', False),
    (('z1',), None, True),
    (('z1',), '', True),
])
def test_a_host_is_in_the_zones_its_aggregates_name(zones, wanted, passes):
    """Only hosts of which none is named are in the default zone."""
    rule = configured(AvailabilityZoneFilter)

    assert rule.mask(hosts(zoned(*zones)),
                     a_request(availability_zone=wanted)) == [passes]


def test_the_default_zone_is_an_option():
    rule = configured(AvailabilityZoneFilter,
                      DEFAULT__default_availability_zone='elsewhere')
    block = hosts(zoned())

    assert rule.mask(block, a_request(availability_zone='elsewhere')).all()
    assert not rule.mask(block, a_request(availability_zone='nova')).any()


def test_runs_once_a_request():
    rule = configured(AvailabilityZoneFilter)

    assert rule.run_filter_for_index(0)
    assert not rule.run_filter_for_index(1)


@pytest.mark.parametrize(('records', 'words'), [
    ([zoned('b'), zoned('a'), zoned('a')], 'hosts are in a, b'),
    ([zoned()], 'hosts are in nova'),
    ([zoned(f'z{number}') for number in range(7)],
     'hosts are in z0, z1, z2, z3, z4 and 2 more'),
])
def test_says_which_zones_there_are(records, words):
    rule = configured(AvailabilityZoneFilter)

    assert rule.reason(hosts(*records), a_request(availability_zone='x')) == (
        f"zone 'x' requested, {words}")


def test_logs_what_operators_search_for(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        configured(AvailabilityZoneFilter).mask(
            hosts(zoned('a')), a_request(availability_zone='x'))

    text, = caplog.messages
    assert text.startswith("Availability Zone 'x' requested. (host0, host0)")
    assert text.endswith("has AZs: {'a'}")
