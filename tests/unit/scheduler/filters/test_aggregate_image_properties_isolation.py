"""AggregateImagePropertiesIsolation."""

import pytest

from nova_sched.scheduler.filters import aggregate_image_properties_isolation
from nova_sched.scheduler.filters.aggregate_image_properties_isolation import (
    AggregateImagePropertiesIsolation,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured

NAMESPACE = 'aggregate_image_properties_isolation_namespace'
SEPARATOR = 'aggregate_image_properties_isolation_separator'


def passes(properties, *aggregates, **options):
    rule = configured(AggregateImagePropertiesIsolation, **options)
    verdict, = rule.mask(hosts(a_host(aggregates=aggregates)),
                         a_request(image_properties=properties))
    return bool(verdict)


@pytest.mark.parametrize(('properties', 'aggregates', 'expected'), [
    ({}, [{'os_distro': 'windows'}], True),
    ({'os_distro': 'windows'}, [], True),
    ({'os_distro': 'windows'}, [{'rack': 'r1'}], True),
    ({'os_distro': 'windows'}, [{'os_distro': 'windows'}], True),
    ({'os_distro': 'linux'}, [{'os_distro': 'windows'}], False),
    ({'os_distro': 'linux'}, [{'os_distro': 'windows, linux'}], True),
    ({'os_distro': 'linux'},
     [{'os_distro': 'windows'}, {'os_distro': 'linux'}], True),
    ({'os_distro': 'linux', 'hw_disk_bus': 'ide'},
     [{'os_distro': 'linux', 'hw_disk_bus': 'scsi'}], False),
    # Properties are compared as text: truth values as Python writes them.
    ({'hw_mem_encryption': True}, [{'hw_mem_encryption': 'True'}], True),
    ({'hw_mem_encryption': True}, [{'hw_mem_encryption': 'true'}], False),
    ({'hw_maxphysaddr_bits': 42}, [{'hw_maxphysaddr_bits': '42'}], True),
    # Whoever writes them as text: the image has what Nova reads of it.
    ({'hw_qemu_guest_agent': 'true'}, [{'hw_qemu_guest_agent': 'true'}],
     False),
    ({'hw_qemu_guest_agent': 'true'}, [{'hw_qemu_guest_agent': 'True'}], True),
    ({'hw_vif_multiqueue_enabled': 'false'},
     [{'hw_vif_multiqueue_enabled': 'True'}], True),
    ({'hw_boot_menu': 'no'}, [{'hw_boot_menu': 'True'}], True),
    ({'hw_video_ram': '0'}, [{'hw_video_ram': '64'}], True),
    ({'hw_pmu': '1'}, [{'hw_pmu': 'True'}], True),
    ({'img_hide_hypervisor_id': 'yes'}, [{'img_hide_hypervisor_id': 'True'}],
     True),
    ({'os_type': 'Linux'}, [{'os_type': 'linux'}], True),
    # What is nothing does not matter.
    ({'hw_mem_encryption': False}, [{'hw_mem_encryption': 'True'}], True),
    ({'hw_maxphysaddr_bits': 0}, [{'hw_maxphysaddr_bits': '42'}], True),
])
def test_an_image_agrees_with_the_hosts_aggregates(properties, aggregates,
                                                   expected):
    assert passes(properties, *aggregates) == expected


def test_a_request_without_image_agrees_with_all():
    rule = configured(AggregateImagePropertiesIsolation)
    block = hosts(a_host(aggregates=[{'os_distro': 'windows'}]))

    assert rule.mask(block, a_request(image=None)) == [True]


@pytest.mark.parametrize(('options', 'expected'), [
    ({NAMESPACE: 'ns'}, True), ({NAMESPACE: 'hw'}, True),
    ({NAMESPACE: 'hw', SEPARATOR: '_'}, False)])
def test_with_a_namespace_only_its_keys_count(options, expected):
    """The whole key is the property's name nevertheless."""
    assert passes({'hw_disk_bus': 'ide'}, {'hw_disk_bus': 'scsi'},
                  **options) == expected


def test_a_namespace_is_warned_of_once(caplog):
    with caplog.at_level('WARNING', 'nova_sched'):
        configured(AggregateImagePropertiesIsolation, **{NAMESPACE: 'ns'})

    assert "keys that begin with 'ns.'" in caplog.text


def test_also_judges_rebuilds():
    rule = configured(AggregateImagePropertiesIsolation)
    request = a_request(image_properties={'os_distro': 'linux'},
                        hints={'_nova_check_type': ['rebuild']})

    assert rule.keep(hosts(a_host(aggregates=[{'os_distro': 'bsd'}])),
                     request) == [False]


def test_a_key_that_no_image_can_have_is_warned_of_once(caplog):
    aggregate_image_properties_isolation._warn_of_key.cache_clear()
    properties = {'os_distro': 'linux'}

    with caplog.at_level('WARNING', 'nova_sched'):
        passes(properties, {'rack': 'r1', 'hw_disk_bus': 'ide'})
        passes(properties, {'rack': 'r2'})

    message, = caplog.messages
    assert message.endswith("a metadata key 'rack' that is not present in "
                            'the image metadata.')


def test_says_what_the_image_has_and_what_aggregates_take():
    block = hosts(a_host(aggregates=[{'os_distro': 'windows'}]),
                  a_host(aggregates=[{'os_distro': 'bsd'}]))

    assert configured(AggregateImagePropertiesIsolation).reason(
        block, a_request(image_properties={'os_distro': 'linux'})) == (
        'image has os_distro=linux, aggregates take bsd, windows')


def test_logs_what_operators_search_for(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        passes({'os_distro': 'linux'}, {'os_distro': 'windows'})

    assert caplog.messages[-1].endswith(
        'fails image aggregate properties requirements. Property os_distro '
        "does not match ['windows'].")
