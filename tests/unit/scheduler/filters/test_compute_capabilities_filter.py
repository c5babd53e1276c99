"""ComputeCapabilitiesFilter."""

import json

import pytest

from nova_sched import exception
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import a_filter

CPU_INFO = {'vendor': 'Intel', 'arch': 'x86_64', 'features': ['aes', 'mmx'],
            'topology': {'cores': 2}, 'hidden': True, 'nothing': None,
            'maxphysaddr': {'mode': 'emulate', 'bits': 46}}
HOST = a_host('h', cpu_info=json.dumps(CPU_INFO), free_ram_mb=2048,
              hypervisor_version=6002000, host_ip=None,
              ram_allocation_ratio=1.5,
              stats={'rack': '12', 'empty': None, 'host_ip': 'from stats',
                     'nested': {'a': '1'}, 'json': '{"b": 2}'})


def verdicts(extra_specs, *records):
    return a_filter('ComputeCapabilitiesFilter').mask(
        hosts(*records), a_request(extra_specs=extra_specs)).tolist()


CASES = [
    # No extra specs, or extra specs of another scope.
    ({}, True),
    ({'trait:CUSTOM': 'required'}, True),
    # Attributes of the host, numbers or text.
    ({'capabilities:free_ram_mb': '>= 2048'}, True),
    ({'capabilities:ram_allocation_ratio': '1.5'}, True),
    ({'capabilities:hypervisor_type': 's== KVM'}, False),
    ({'capabilities:hypervisor_version': '= 6000000'}, True),
    ({'capabilities:supported_instances': "<in> 'kvm'"}, True),
    # Into JSON text and dicts.
    ({'capabilities:cpu_info:vendor': '<in> Intel'}, True),
    ({'capabilities:cpu_info:features': '<all-in> aes mmx'}, True),
    ({'capabilities:cpu_info:features:0': 'aes'}, False),
    ({'capabilities:cpu_info:topology': "{'cores': 2}"}, True),
    ({'capabilities:cpu_info:topology': '{"cores": 2}'}, False),
    ({'capabilities:cpu_info:topology:cores': '= 2'}, True),
    ({'capabilities:cpu_info:hidden': 'True'}, True),
    ({'capabilities:cpu_info:nothing': 's!= x'}, False),
    ({'capabilities:hypervisor_type:x': 's!= y'}, False),
    ({'capabilities:free_ram_mb:x': 's!= y'}, False),
    # Statistics, by their name or through the attribute.
    ({'capabilities:stats:rack': '12'}, True),
    ({'capabilities:empty': 's!= x'}, False),
    ({'capabilities:nested:a': '= 1'}, True),
    ({'capabilities:json:b': '2'}, True),
    ({'capabilities:host_ip': 'from stats'}, True),
    # A missing attribute meets nothing.
    ({'capabilities:missing': 's!= x'}, False),
    ({'capabilities::host': 'h'}, False),
    ({'capabilities:service:host': 's!= x'}, False),
    ({'capabilities:service_up': 'True'}, False),
    ({'capabilities:update': 's!= x'}, False),
    # Without a scope: only if the host knows the name.
    ({'rack': '12'}, True),
    ({'free_ram_mb': '1'}, False),
    ({'unknown': 'x'}, True),
    ({'capabilities': 'x'}, True),
    ({'service_up': 'x'}, True),
    ({'empty': 's!= x'}, False),
    # Address bits have a special rule.
    ({'hw:maxphysaddr_bits': '47'}, False),
    # All of them must be met.
    ({'capabilities:rack': '12', 'capabilities:host': 'x'}, False),
]


@pytest.mark.parametrize(('extra_specs', 'passes'), CASES)
def test_a_host_meets_the_extra_specs(extra_specs, passes):
    assert verdicts(extra_specs, HOST) == [passes]


@pytest.mark.parametrize(('extra_specs', 'passes'), [
    ({}, True), ({'capabilities:hypervisor_type': 's!= x'}, False),
    ({'capabilities:rack': '1'}, False), ({'rack': '1'}, True),
    ({'capabilities:cpu_info:vendor': 's!= x'}, False),
    ({'capabilities:total_usable_ram_mb': '== 0'}, True),
])
def test_a_host_that_never_reported_has_no_capabilities(extra_specs, passes):
    assert verdicts(extra_specs, a_host(**NEVER_REPORTED)) == [passes]


def test_a_numeric_comparison_with_text_is_refused():
    with pytest.raises(exception.InvalidInput, match=(
            r"flavor\.extra_specs\.hypervisor_type = '>= 2'")) as failure:
        verdicts({'capabilities:hypervisor_type': '>= 2'}, HOST)
    assert failure.value.__notes__[0] == "at 'QEMU'"


def test_later_extra_specs_skip_hosts_already_rejected():
    """So an invalid value on a rejected host does no harm."""
    assert verdicts({'capabilities:host_ip': 'b', 'capabilities:n': '= 4'},
                    a_host(host_ip='a', stats={'n': 'x'}),
                    a_host(host_ip='b', stats={'n': '4'})) == [False, True]


def test_broken_json_on_a_host_meets_nothing():
    assert verdicts({'capabilities:cpu_info:vendor': 's!= x'}, *(
        a_host(cpu_info=text) for text in ('{', '[' * 100000))) == [False] * 2


def test_each_distinct_text_is_parsed_once(monkeypatch):
    """So equal hosts cost no more than one."""
    asked = []
    read = json.loads
    monkeypatch.setattr(json, 'loads', lambda text: (
        asked.append(text), read(text))[1])

    verdicts({'capabilities:cpu_info:vendor': 'Intel'}, *(
        {**HOST, 'host': f'h{number}', 'nodename': f'h{number}'}
        for number in range(100)))

    assert len(asked) == 1
