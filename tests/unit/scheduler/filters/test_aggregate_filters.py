"""Filters that compare requests with the metadata of host aggregates."""

import pytest

from nova_sched import exception
from nova_sched.scheduler.filters import aggregate_image_properties_isolation
from tests.builders.hosts import a_host
from tests.builders.requests import a_flavor
from tests.builders.rules import a_filter
from tests.builders.rules import passing

IMAGE = 'AggregateImagePropertiesIsolation'
SPECS = 'AggregateInstanceExtraSpecsFilter'
ZONE = 'AvailabilityZoneFilter'
NAMESPACE = 'aggregate_image_properties_isolation_namespace'
SEPARATOR = 'aggregate_image_properties_isolation_separator'
SCOPED = 'aggregate_instance_extra_specs:'


def passes(rule, aggregates, **request):
    """Whether a host with these metadata dicts passes a filter."""
    return bool(passing(rule, a_host(aggregates=aggregates), **request))


@pytest.mark.parametrize(('properties', 'aggregates', 'expected'), [
    ({}, [{'os_distro': 'windows'}], True),
    ({'os_distro': 'windows'}, [{'rack': 'r1'}], True),
    ({'os_distro': 'linux'}, [{'os_distro': 'windows'}], False),
    ({'os_distro': 'linux'}, [{'os_distro': 'windows, linux'}], True),
    ({'os_distro': 'linux'},
     [{'os_distro': 'windows'}, {'os_distro': 'linux'}], True),
    ({'os_distro': 'linux', 'hw_disk_bus': 'ide'},
     [{'os_distro': 'linux', 'hw_disk_bus': 'scsi'}], False),
    # Properties are compared as text; booleans as Python prints them.
    ({'hw_mem_encryption': True}, [{'hw_mem_encryption': 'True'}], True),
    ({'hw_mem_encryption': True}, [{'hw_mem_encryption': 'true'}], False),
    ({'hw_maxphysaddr_bits': 42}, [{'hw_maxphysaddr_bits': '42'}], True),
    # Texts are first converted to the property's type, as Nova does.
    ({'hw_qemu_guest_agent': 'true'}, [{'hw_qemu_guest_agent': 'true'}],
     False),
    ({'hw_qemu_guest_agent': 'true'}, [{'hw_qemu_guest_agent': 'True'}], True),
    ({'hw_boot_menu': 'no'}, [{'hw_boot_menu': 'True'}], True),
    ({'hw_video_ram': '0'}, [{'hw_video_ram': '64'}], True),
    ({'hw_pmu': '1'}, [{'hw_pmu': 'True'}], True),
    ({'os_type': 'Linux'}, [{'os_type': 'linux'}], True),
    # False and 0 count as unset.
    ({'hw_mem_encryption': False}, [{'hw_mem_encryption': 'True'}], True),
    ({'hw_maxphysaddr_bits': 0}, [{'hw_maxphysaddr_bits': '42'}], True),
])
def test_image_properties_match_aggregates(properties, aggregates, expected):
    assert passes(IMAGE, aggregates, image_properties=properties) == expected


def test_a_request_without_image_passes():
    assert passes(IMAGE, [{'os_distro': 'windows'}], image=None)


@pytest.mark.parametrize(('options', 'expected'), [
    ({NAMESPACE: 'ns'}, True), ({NAMESPACE: 'hw'}, True),
    ({NAMESPACE: 'hw', SEPARATOR: '_'}, False)])
def test_a_namespace_limits_the_keys_that_count(options, expected, caplog):
    """The whole key is the property's name; the filter warns at its start."""
    rule = a_filter(IMAGE, **options)

    assert f"keys that begin with '{options[NAMESPACE]}" in caplog.text
    assert passes(rule, [{'hw_disk_bus': 'scsi'}],
                  image_properties={'hw_disk_bus': 'ide'}) == expected


def test_unknown_image_properties_are_warned_about_once(caplog):
    aggregate_image_properties_isolation._warn_of_key.cache_clear()
    for rack in ('r1', 'r2'):
        passes(IMAGE, [{'rack': rack}], image_properties={'os_distro': 'x'})

    [message] = caplog.messages
    assert message.endswith("a metadata key 'rack' that is not present in "
                            'the image metadata.')


@pytest.mark.parametrize(('extra_specs', 'aggregates', 'expected'), [
    # Without a scope or with the filter's own, the key must be there.
    ({'ssd': 'true'}, [{'ssd': 'true'}], True),
    ({SCOPED + 'ssd': 'true'}, [{'ssd': 'true'}], True),
    ({'ssd': 'true'}, [{'ssd': 'false'}], False),
    ({SCOPED + 'ssd': 's!= true'}, [{'rack': '1'}], False),
    # Extra specs of another scope do not matter.
    ({'capabilities:ssd': 'true'}, [{'ssd': 'false'}], True),
    # The key is the text after the first colon.
    ({SCOPED + 'a:b': '1'}, [{'a:b': '1'}], True),
    # One of the values is enough, in any aggregate.
    ({'rack': 'r2'}, [{'rack': 'r1, r2'}], True),
    ({'rack': 'r2'}, [{'rack': 'r1'}, {'rack': 'r2'}], True),
    ({'n': 's!= 1'}, [{'n': '1,2'}], True),
    ({'cpu': '<all-in> a b'}, [{'cpu': 'a,b'}], False),
    ({'n': ''}, [{'n': ''}], True),
    # All extra specs must be met.
    ({'n': '>= 2', 'ssd': 'true'}, [{'n': '3', 'ssd': 'true'}], True),
    ({'n': '>= 2', 'ssd': 'true'}, [{'n': '3', 'ssd': 'no'}], False),
    # Values that are no numbers are skipped, in any order.
    ({'n': '>= 4'}, [{'n': 'x,4'}], True),
    ({'n': '>= 4'}, [{'n': '4,x'}], True),
    # A missing key rejects before another value is compared.
    ({'model': '>= 2', 'rack': 'r2'}, [{'model': 'epyc'}], False),
    ({'rack': 'r2', 'model': '>= 2'}, [{'model': 'epyc'}], False),
])
def test_extra_specs_match_the_aggregates(extra_specs, aggregates, expected):
    assert passes(SPECS, aggregates, extra_specs=extra_specs) == expected


@pytest.mark.parametrize(('requirement', 'values', 'words'), [
    ('>= 4', 'x', r"flavor.extra_specs.n = '>= 4'"),
    ('>= 4', '3,x', r"flavor.extra_specs.n = '>= 4'"),
    ('>= 4', 'x,3', r"flavor.extra_specs.n = '>= 4'"),
    ('<or>', '1', 'no alternative')])
def test_comparison_that_cannot_be_made_is_refused(requirement, values, words):
    with pytest.raises(exception.InvalidInput, match=words):
        passes(SPECS, [{'n': values}], extra_specs={'n': requirement})


def test_later_extra_specs_skip_hosts_already_rejected():
    assert passing(
        SPECS, a_host('a', aggregates=[{'ssd': 'no', 'n': 'x'}]),
        a_host('b', aggregates=[{'ssd': 'true', 'n': '4'}]),
        extra_specs={'ssd': 'true', 'n': '>= 4'}) == ['b']


@pytest.mark.parametrize(('aggregates', 'expected'), [
    ([{'rack': 'r1'}], True),
    ([{'filter_tenant_id': 'prod'}], False),
    ([{'filter_tenant_id': 'prod , demo'}], True),
    ([{'filter_tenant_id7': 'demo', 'filter_tenant_id': 'prod'}], True),
    ([{'filter_tenant_idx': 'prod'}], False),
    ([{'filter_tenant_id': 'prod'}, {'filter_tenant_id': 'demo'}], True),
    ([{'filter_tenant_id': ''}], False),
    ([{'my_filter_tenant_id': 'prod'}], True),
])
def test_aggregates_limit_their_hosts_to_projects(aggregates, expected):
    assert passes('AggregateMultiTenancyIsolation', aggregates,
                  project_id='demo') == expected


@pytest.mark.parametrize(('values', 'expected'), [
    ([], True),
    (['fake.small'], False),
    (['x , fake.flavor'], True),
    (['x', 'fake.flavor'], True),
    (['FAKE.flavor'], False),
    (['fake.flavor.big'], False),
    ([''], False),
])
def test_aggregates_limit_their_hosts_to_flavors(values, expected):
    """An empty value admits no flavor."""
    assert passes('AggregateTypeAffinityFilter', [
        {'instance_type': value} for value in values],
        flavor=a_flavor(name='fake.flavor')) == expected


@pytest.mark.parametrize(('zones', 'wanted', 'expected'), [
    ((), 'nova', True),
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
def test_a_host_is_in_the_zones_of_its_aggregates(zones, wanted, expected):
    """A host without a zone is in the default zone."""
    assert passes(ZONE, [
        {} if zone is None else {'availability_zone': zone}
        for zone in zones], availability_zone=wanted) == expected


def test_the_default_zone_is_an_option():
    rule = a_filter(ZONE, DEFAULT__default_availability_zone='elsewhere')

    assert [zone for zone in ('elsewhere', 'nova') if passes(
        rule, [], availability_zone=zone)] == ['elsewhere']
