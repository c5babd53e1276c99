"""Giving a reason never takes the place of an answer."""

import pytest

from nova_sched import exception
from nova_sched.scheduler import filters
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host


class SpeechlessFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        return False

    def reason(self, hosts, spec_obj):
        raise ValueError('no words')


def refusal(scheduler, spec):
    with pytest.raises(exception.NoValidHost) as refused:
        select(scheduler, spec)
    return refused.value.kwargs['reason']


def test_a_filter_without_words_still_counts():
    scheduler = MemoryScheduler(
        a_host('a'), available_filters=[f'{__name__}.SpeechlessFilter'],
        enabled_filters=['SpeechlessFilter'])

    assert refusal(scheduler, requests.a_request()).endswith(
        '0 of 1 hosts: 1 SpeechlessFilter')


def test_a_capability_that_no_host_was_asked_for_cannot_fail_it():
    """The second requirement is not looked at where the first rejects."""
    scheduler = MemoryScheduler(
        a_host('a', stats={'foo': 'abc'}),
        enabled_filters=['ComputeCapabilitiesFilter'])
    spec = requests.a_request(extra_specs={
        'capabilities:hypervisor_type': 'nomatch',
        'capabilities:foo': '>= 3'})

    assert "hypervisor_type 'nomatch' needed" in refusal(scheduler, spec)


@pytest.mark.parametrize('version', [-1, 0, None])
def test_an_odd_hypervisor_version_is_no_version(version):
    scheduler = MemoryScheduler(
        a_host('a', hypervisor_version=version),
        enabled_filters=['ImagePropertiesFilter'])
    spec = requests.a_request(image_properties={
        'img_hv_type': 'xen', 'img_hv_requested_version': '>=6.0'})

    assert 'in no version' in refusal(scheduler, spec)


@pytest.mark.parametrize('name', ['service:host', 'service:binary'])
def test_the_service_is_no_capability(name):
    scheduler = MemoryScheduler(
        a_host('a'), enabled_filters=['ComputeCapabilitiesFilter'])
    spec = requests.a_request(extra_specs={f'capabilities:{name}': 's!= x'})

    assert '1 ComputeCapabilitiesFilter' in refusal(scheduler, spec)
