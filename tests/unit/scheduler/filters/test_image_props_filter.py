"""ImagePropertiesFilter."""

import json

import pytest

from nova_sched.scheduler.filters import image_props_filter
from nova_sched.scheduler.filters.image_props_filter import (
    ImagePropertiesFilter,
)
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured

KVM = ('x86_64', 'kvm', 'hvm')
XEN = ('x86_64', 'xen', 'xen')
ARM = ('aarch64', 'kvm', 'hvm')


def host(*triples, version=6002000, cpu_info=None):
    return a_host(supported_instances=json.dumps(triples),
                  hypervisor_version=version, cpu_info=cpu_info)


def passes(host, properties, **options):
    rule = configured(ImagePropertiesFilter, **options)
    return rule.mask(hosts(host), a_request(image_properties=properties))[0]


@pytest.mark.parametrize(('triples', 'properties', 'expected'), [
    ([KVM], {}, True),
    ([], {}, True),
    ([], {'hw_architecture': 'x86_64'}, False),
    ([KVM], {'hw_architecture': 'x86_64'}, True),
    ([KVM], {'hw_architecture': 'aarch64'}, False),
    ([KVM, ARM], {'hw_architecture': 'aarch64'}, True),
    ([KVM], {'hw_architecture': 'AMD64', 'img_hv_type': 'KVM'}, True),
    ([('amd64', 'KVM', 'hv')],
     {'hw_architecture': 'x86_64', 'hw_vm_mode': 'hvm'}, True),
    ([('x86_64', 'xapi', 'pv')],
     {'img_hv_type': 'xen', 'hw_vm_mode': 'xen'}, True),
    ([KVM], {'img_hv_type': 'xen'}, False),
    ([('x86_64', 'kvm', 'xen')], {'img_hv_type': 'xen'}, True),
    ([KVM, XEN], {'img_hv_type': 'kvm', 'hw_vm_mode': 'xen'}, False),
    ([('ppc', 'made-up', 'hvm')], {'hw_architecture': 'ppc'}, True),
])
def test_one_of_a_hosts_triples_contains_all_the_image_names(
        triples, properties, expected):
    """In whatever place of it, spelled however the host spells it."""
    assert passes(host(*triples), properties) == expected


@pytest.mark.parametrize(('version', 'wanted', 'expected'), [
    (6002000, '>=6.0,<6.3', True),
    (6002000, '<6.2', False),
    (6000, '==6.0.0', True),
    (1000000, '>=1', True),
    (10001000, '>=9', True),
    (5, '==5', True),
    (5, '>=6', False),
    (0, '>=99', True),
    (None, '>=99', True),
    (6002000, '!=6.2', False),
])
def test_the_hypervisor_meets_the_conditions_on_its_version(
        version, wanted, expected):
    """A host that reports no version passes."""
    assert passes(host(KVM, version=version), {
        'img_hv_type': 'kvm',
        'img_hv_requested_version': wanted}) == expected


@pytest.mark.parametrize(('cpu_info', 'expected'), [
    ('{"maxphysaddr": {"bits": 46}}', True),
    ('{"maxphysaddr": {"bits": 40}}', True),
    ('{"maxphysaddr": {"bits": 39}}', False),
    ('{"maxphysaddr": {}}', True),
    ('{"maxphysaddr": null}', True),
    ('{}', True), ('[]', True), ('not JSON', True), (None, True),
])
def test_the_cpu_has_enough_address_bits(cpu_info, expected):
    """A host that does not report its bits passes."""
    assert passes(host(KVM, cpu_info=cpu_info), {
        'hw_architecture': 'x86_64', 'hw_maxphysaddr_bits': 40}) == expected


def test_version_and_bits_count_only_with_one_of_the_three():
    assert passes(host(KVM, cpu_info='{"maxphysaddr": {"bits": 1}}'), {
        'img_hv_requested_version': '>=99', 'hw_maxphysaddr_bits': 99})


def test_a_default_architecture_stands_in_for_none():
    """Also for a request without any image."""
    rule = configured(ImagePropertiesFilter,
                      image_properties_default_architecture='x86_64')
    block = hosts(host(KVM), host(ARM))

    for request in (a_request(), a_request(image=None)):
        assert rule.mask(block, request).tolist() == [True, False]
    assert rule.mask(block, a_request(image_properties={
        'hw_architecture': 'aarch64'})).tolist() == [False, True]


def test_a_host_that_never_reported_supports_nothing():
    assert not passes(a_host(**NEVER_REPORTED), {'img_hv_type': 'kvm'})
    assert passes(a_host(**NEVER_REPORTED), {})


def test_runs_when_an_instance_is_rebuilt():
    assert ImagePropertiesFilter.RUN_ON_REBUILD


def test_says_what_the_image_needs_and_hosts_offer():
    rule = configured(ImagePropertiesFilter)
    request = a_request(image_properties={
        'hw_architecture': 'x86_64', 'img_hv_type': 'xen',
        'img_hv_requested_version': '>=9'})

    assert rule.reason(hosts(host(KVM), host(XEN)), request) == (
        'image needs hw_architecture=x86_64, img_hv_type=xen, '
        'img_hv_requested_version=>=9, hosts support x86_64/kvm/hvm, '
        'x86_64/xen/xen in 6.2.0')


def test_logs_what_operators_search_for(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        passes(host(KVM), {'img_hv_type': 'xen'})
        passes(host(), {'img_hv_type': 'xen'})

    assert caplog.messages[0] == (
        'Instance contains properties img_hv_type=xen that are not provided '
        "by the compute node supported_instances [['x86_64', 'kvm', 'hvm']] "
        'or hypervisor version 6002000 do not match')
    assert caplog.messages[1].endswith(
        'does not support requested instance_properties')
    assert caplog.messages[2] == (
        'Instance contains properties img_hv_type=xen, but no corresponding '
        'supported_instances are advertised by the compute node')


def test_conditions_on_the_version_are_read_once_a_request(monkeypatch):
    """However many versions there are."""
    read, make = [], image_props_filter.versionutils.VersionPredicate
    monkeypatch.setattr(image_props_filter.versionutils, 'VersionPredicate',
                        lambda text: read.append(text) or make(text))
    block = hosts(*(host(KVM, version=6002000 + number)
                    for number in range(5)))
    request = a_request(image_properties={
        'hw_architecture': 'x86_64', 'img_hv_requested_version': '>=6.2.3'})
    read.clear()

    mask = configured(ImagePropertiesFilter).mask(block, request)

    assert mask.tolist() == [False] * 3 + [True] * 2
    assert read == ['>=6.2.3']


def test_long_conditions_are_shown_in_part():
    request = a_request(image_properties={
        'hw_architecture': 'x86_64',
        'img_hv_requested_version': ','.join(['>=7.0'] * 10_000)})

    reason = configured(ImagePropertiesFilter).reason(
        hosts(host(KVM)), request)

    assert 'img_hv_requested_version=>=7.0,>=7.0' in reason
    assert len(reason) < 400
