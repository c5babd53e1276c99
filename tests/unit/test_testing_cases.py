"""The made-up cases that filters and weighers of plug-ins are tried on."""

import json

import pytest

from nova_sched.testing import a_host
from nova_sched.testing import a_request
from nova_sched.testing import contract
from nova_sched.testing import fuzz
from nova_sched.testing import host_builders
from nova_sched.testing.request_builders import INSTANCE_UUID

AMOUNTS = {-2048, -1, 0, 1, 511, 512, 1024, 65536}


def plain(value):
    """A value that can be in a set."""
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple(sorted((key, plain(one)) for key, one in value.items()))
    return getattr(value, 'text', value)


def seen(of, name):
    return {plain(getattr(one, name) if not isinstance(one, dict)
                  else one[name]) for one in of}


@pytest.fixture
def cases():
    """All that a rule is tried on of itself."""
    return [fuzz.case(number, (), ()) for number in range(contract.ROUNDS)]


@pytest.fixture
def hosts(cases):
    return [host for case in cases for host in case.records]


@pytest.fixture
def requests(cases):
    return [case.spec_obj for case in cases]


def test_are_the_same_in_every_run():
    first, second = fuzz.case(7, (), ()), fuzz.case(7, (), ())

    assert repr(first.spec_obj) == repr(second.spec_obj)
    assert str(first.records) == str(second.records)
    assert first.running == second.running


def test_have_hosts_that_plug_ins_trip_over(hosts):
    """Some of which never reported."""
    expected = {
        'total_usable_ram_mb': {value for value in AMOUNTS if value >= 0},
        'free_ram_mb': AMOUNTS, 'free_disk_mb': AMOUNTS,
        'vcpus_used': {0, 1, 64}, 'num_io_ops': {0, 9},
        'num_instances': {0, 200}, 'failed_builds': {0, 3},
        'service_up': {False, True}, 'service_disabled': {False, True},
        'hypervisor_type': {'QEMU', 'ironic', None},
        'hypervisor_version': {0, 6002000, None},
        'cpu_info': {None, '', '{', json.dumps(
            {'arch': 'x86_64', 'features': ['aes']})},
        'stats': {(), (('rack', 'r1'),), (('rack', None),)},
        'supported_instances': {None, '[]', '[["x86_64", "kvm", "hvm"]]'}}
    reported = [host for host in hosts if host['vcpus_total']]
    silent = [host for host in hosts if not host['vcpus_total']]

    assert {name: seen(reported, name) for name in expected} == expected
    assert 0 < len(silent) < len(hosts) / 5
    assert all(host.items() >= host_builders.NEVER_REPORTED.items()
               for host in silent)


def test_have_hosts_of_none_to_two_aggregates(hosts):
    counts = {len(host['aggregates']) for host in hosts}
    metadata = {plain(dict(one.metadata)) for host in hosts
                for one in host['aggregates']}

    assert counts == {0, 1, 2}
    assert metadata == {
        (), (('availability_zone', 'z1'),), (('availability_zone', ''),),
        (('rack', 'r1, r2'), ('ram_weight_multiplier', 'none')),
        tuple((key, fuzz.PRIVATE) for key in (
            'filter_tenant_id', 'instance_type', 'os_type', 'rack'))}


def test_are_of_none_to_four_hosts(cases, hosts):
    assert {len(case.records) for case in cases} == {0, 1, 2, 3, 4}
    assert {host['host'] for host in hosts} == {
        f'{fuzz.PRIVATE}{number}' for number in range(4)}


def test_have_instances_on_some_hosts(cases):
    uuids = {uuid for case in cases for uuid in case.running}

    assert uuids == {'m1', 'm2', INSTANCE_UUID}
    assert {len(case.running) for case in cases} == {0, 1, 2, 3}
    assert all({*case.running.values()} <= {
        host['host'] for host in case.records} for case in cases)


def test_have_requests_that_plug_ins_trip_over(requests):
    expected = {'num_instances': {1, 3}, 'is_bfv': {False, True},
                'availability_zone': {None, 'nova', 'z1'}}
    of_flavor = {
        'memory_mb': {0, 512, 65536}, 'vcpus': {1, 64}, 'root_gb': {0, 40},
        'extra_specs': {(), (('rack', 'r1'),),
                        (('hw:cpu_policy', 'dedicated'),)}}
    flavors = [spec.flavor for spec in requests]

    assert {name: seen(requests, name) for name in expected} == expected
    assert {name: seen(flavors, name) for name in of_flavor} == of_flavor


def test_have_requests_with_and_without_what_they_may_lack(requests):
    def some(found):
        assert 0 < sum(map(bool, found)) < len(requests)

    some([spec.image is None for spec in requests])
    some([spec.retry for spec in requests])
    some([spec.is_rebuild for spec in requests])
    some([spec.get_scheduler_hint('same_host') for spec in requests])
    some([spec.image_properties.get('os_type') for spec in requests])
    groups = [spec.instance_group for spec in requests]
    some(groups)
    assert {(group.policy, *group.members, *group.hosts)
            for group in groups if group is not None} == {
        ('affinity', 'm1', 'fuzz1'),
        ('anti-affinity', 'm1', 'm2', INSTANCE_UUID)}


def test_mix_in_what_is_given():
    """Any of the hosts, and most times one of the requests."""
    own, request = [a_host('own'), a_host('too')], a_request(vcpus=3)
    cases = [fuzz.case(number, own, [request]) for number in range(40)]
    mixed = [[host['host'] for host in case.records] for case in cases]

    assert {sum(name in ('own', 'too') for name in names)
            for names in mixed} == {0, 1, 2}
    assert any(names[:1] == ['own'] and len(names) > 2 for names in mixed)
    given = [case.spec_obj.flavor.vcpus == 3 for case in cases]
    assert 20 < sum(given) < 40


def test_are_each_given_to_nobody_else():
    """What a plug-in changes in one, the next does not see."""
    own = a_host('own', aggregates=[{'rack': 'r1'}])
    made = [fuzz.case(number, [own], ()) for number in range(9)]
    case = next(case for case in made if own in case.records)

    def racks():
        return [one.metadata.get('rack') for state in case.hosts().states()
                if state.host == 'own' for one in state.aggregates]
    for state in case.hosts().states():
        for aggregate in state.aggregates:
            aggregate.metadata['rack'] = 'mine'
    case.request().flavor.vcpus = 77

    assert racks() == ['r1']
    assert case.request().flavor.vcpus != 77
