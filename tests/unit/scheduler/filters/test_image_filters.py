"""Filters that look at the image: its properties, and isolated images."""

import json

import pytest

from nova_sched.scheduler.filters import image_props_filter
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.builders.rules import a_filter
from tests.builders.rules import passing

NAME = 'ImagePropertiesFilter'
KVM = ('x86_64', 'kvm', 'hvm')
XEN = ('x86_64', 'xen', 'xen')
ARM = ('aarch64', 'kvm', 'hvm')


def host(*triples, version=6002000, cpu_info=None):
    return a_host(supported_instances=json.dumps(triples),
                  hypervisor_version=version, cpu_info=cpu_info)


def passes(host, properties):
    return bool(passing(NAME, host, image_properties=properties))


@pytest.mark.parametrize(('triples', 'properties', 'expected'), [
    ([], {}, True),
    ([], {'hw_architecture': 'x86_64'}, False),
    ([KVM], {'hw_architecture': 'aarch64'}, False),
    ([KVM, ARM], {'hw_architecture': 'aarch64'}, True),
    ([KVM], {'hw_architecture': 'AMD64', 'img_hv_type': 'KVM'}, True),
    ([('amd64', 'KVM', 'hv')],
     {'hw_architecture': 'x86_64', 'hw_vm_mode': 'hvm'}, True),
    ([('x86_64', 'xapi', 'pv')],
     {'img_hv_type': 'xen', 'hw_vm_mode': 'xen'}, True),
    ([('x86_64', 'kvm', 'xen')], {'img_hv_type': 'xen'}, True),
    ([KVM, XEN], {'img_hv_type': 'kvm', 'hw_vm_mode': 'xen'}, False),
    ([('ppc', 'made-up', 'hvm')], {'hw_architecture': 'ppc'}, True),
])
def test_one_supported_type_has_all_properties(triples, properties, expected):
    """In any position of the triple, and in any spelling."""
    assert passes(host(*triples), properties) == expected


@pytest.mark.parametrize(('version', 'wanted', 'expected'), [
    (6002000, '>=6.0,<6.3', True),
    (6002000, '<6.2', False),
    (6000, '==6.0.0', True),
    (1000000, '>=1', True),
    (10001000, '>=9', True),
    (5, '>=6', False),
    (0, '>=99', True),
    (None, '>=99', True),
    (6002000, '!=6.2', False),
])
def test_hypervisor_version_meets_conditions(version, wanted, expected):
    """A host that reports no version passes."""
    assert passes(host(KVM, version=version), {
        'img_hv_type': 'kvm', 'img_hv_requested_version': wanted}) == expected


@pytest.mark.parametrize(('cpu_info', 'expected'), [
    ('{"maxphysaddr": {"bits": 40}}', True),
    ('{"maxphysaddr": {"bits": 39}}', False),
    *((text, True) for text in ('{"maxphysaddr": {}}', '{"maxphysaddr": null}',
                                '[]', 'not JSON', None))])
def test_the_cpu_has_enough_address_bits(cpu_info, expected):
    """A host that does not report its bits passes."""
    assert passes(host(KVM, cpu_info=cpu_info), {
        'hw_architecture': 'x86_64', 'hw_maxphysaddr_bits': 40}) == expected


def test_version_and_bits_alone_do_not_count():
    """Only together with an architecture, hypervisor or mode."""
    assert passes(host(KVM, cpu_info='{"maxphysaddr": {"bits": 1}}'), {
        'img_hv_requested_version': '>=99', 'hw_maxphysaddr_bits': 99})


def test_a_default_architecture_applies_to_images_without_one():
    """Also to a request without an image."""
    rule = a_filter(NAME, image_properties_default_architecture='x86_64')
    two = host(KVM), host(ARM)

    for image in ({}, {'image': None}):
        assert passing(rule, *two, **image) == ['host0']
    assert passing(rule, *two, image_properties={
        'hw_architecture': 'aarch64'}) == ['host1']


def test_a_host_that_never_reported_supports_nothing():
    assert not passes(a_host(**NEVER_REPORTED), {'img_hv_type': 'kvm'})
    assert passes(a_host(**NEVER_REPORTED), {})


def test_version_conditions_are_parsed_once_a_request(monkeypatch):
    read, make = [], image_props_filter.versionutils.VersionPredicate
    monkeypatch.setattr(image_props_filter.versionutils, 'VersionPredicate',
                        lambda text: read.append(text) or make(text))
    request = a_request(image_properties={
        'hw_architecture': 'x86_64', 'img_hv_requested_version': '>=6.2.3'})
    read.clear()

    mask = a_filter(NAME).mask(hosts(*(
        host(KVM, version=6002000 + number) for number in range(5))), request)

    assert mask.tolist() == [False] * 3 + [True] * 2
    assert read == ['>=6.2.3']


def test_long_conditions_are_shown_in_part():
    reason = a_filter(NAME).reason(hosts(host(KVM)), a_request(
        image_properties={
            'hw_architecture': 'x86_64',
            'img_hv_requested_version': ','.join(['>=7.0'] * 10_000)}))

    assert 'img_hv_requested_version=>=7.0,>=7.0' in reason
    assert len(reason) < 400


@pytest.mark.parametrize('restrict', [True, False])
@pytest.mark.parametrize(('images', 'isolated', 'image', 'strict', 'loose'), [
    (['i'], ['a'], 'i', 'a', 'a'),
    (['i'], ['a'], 'other', 'b', 'ab'),
    (['i'], ['a'], None, 'b', 'ab'),
    ([], ['a'], 'i', 'b', 'ab'),
    (['i'], [], 'i', '', ''),
    (['i'], [], 'other', 'ab', 'ab'),
    (['i'], ['A'], 'i', '', ''),
    (['I'], ['a'], 'i', 'b', 'ab'),
])
def test_isolated_images_and_hosts_stay_together(
        images, isolated, image, strict, loose, restrict):
    """Names are exact; images isolated without hosts go nowhere."""
    rule = a_filter(
        'IsolatedHostsFilter', isolated_images=images, isolated_hosts=isolated,
        restrict_isolated_hosts_to_isolated_images=restrict)

    assert ''.join(passing(
        rule, a_host('a'), a_host('b'), image=image and an_image(id=image))
        ) == (strict if restrict else loose)


def test_an_image_without_an_id_is_not_isolated():
    image = an_image()
    del image.id

    assert passing(a_filter('IsolatedHostsFilter', isolated_images=['i'],
                            isolated_hosts=['a']),
                   a_host('a'), a_host('b'), image=image) == ['b']
