"""Generated cases for the contract of filters and weighers."""

import pytest

from nova_sched.testing import a_host
from nova_sched.testing import a_request
from nova_sched.testing import contract
from nova_sched.testing import fuzz
from nova_sched.testing import host_builders
from nova_sched.testing.request_builders import INSTANCE_UUID


@pytest.fixture(scope='module')
def cases():
    """All generated cases, without a test's own hosts and requests."""
    return [fuzz.case(number, (), ()) for number in range(contract.ROUNDS)]


@pytest.fixture(scope='module')
def hosts(cases):
    return [host for case in cases for host in case.records]


def test_cases_are_the_same_in_every_run():
    first, second = fuzz.case(7, (), ()), fuzz.case(7, (), ())

    assert repr(first.spec_obj) == repr(second.spec_obj)
    assert str(first.records) == str(second.records)
    assert first.running == second.running


def test_hosts_have_amounts_around_zero_and_missing_texts(hosts):
    reported = [host for host in hosts if host['vcpus_total']]
    values = {name: {host[name] for host in reported} for name in (
        'free_ram_mb', 'free_disk_mb', 'service_up', 'service_disabled',
        'hypervisor_type', 'cpu_info', 'supported_instances')}

    assert {-2048, -1, 0, 1} <= values['free_ram_mb'] & values['free_disk_mb']
    assert values['service_up'] == values['service_disabled'] == {True, False}
    assert all({None} < values[name] for name in (
        'hypervisor_type', 'cpu_info', 'supported_instances'))
    assert '{' in values['cpu_info']


def test_some_hosts_never_reported(hosts):
    silent = [host for host in hosts if not host['vcpus_total']]

    assert 0 < len(silent) < len(hosts) / 5
    assert all(host.items() >= host_builders.NEVER_REPORTED.items()
               for host in silent)


def test_instances_run_on_hosts_of_the_case(cases):
    uuids = {uuid for case in cases for uuid in case.running}

    assert uuids == {'m1', 'm2', INSTANCE_UUID}
    assert {len(case.running) for case in cases} == {0, 1, 2, 3}
    assert all({*case.running.values()} <= {
        host['host'] for host in case.records} for case in cases)


@pytest.mark.parametrize('field', [
    lambda spec: spec.image is None, lambda spec: spec.retry,
    lambda spec: spec.is_rebuild, lambda spec: spec.is_bfv,
    lambda spec: spec.instance_group, lambda spec: spec.availability_zone,
    lambda spec: spec.flavor.memory_mb, lambda spec: spec.flavor.root_gb,
    lambda spec: spec.flavor.extra_specs, lambda spec: spec.num_instances > 1,
    lambda spec: spec.get_scheduler_hint('same_host'),
    lambda spec: spec.image_properties.get('os_type')])
def test_some_requests_have_each_optional_part(cases, field):
    assert {bool(field(case.spec_obj)) for case in cases} == {True, False}


def test_hosts_and_requests_of_a_test_are_mixed_in():
    own, request = [a_host('own'), a_host('too')], a_request(vcpus=3)
    cases = [fuzz.case(number, own, [request]) for number in range(40)]
    mixed = [[host['host'] for host in case.records] for case in cases]

    assert {sum(name in ('own', 'too') for name in names)
            for names in mixed} == {0, 1, 2}
    assert any(names[:1] == ['own'] and len(names) > 2 for names in mixed)
    given = [case.spec_obj.flavor.vcpus == 3 for case in cases]
    assert 20 < sum(given) < 40


def test_changes_of_a_plug_in_do_not_reach_the_next_call():
    own = a_host('own', aggregates=[{'rack': 'r1'}])
    made = [fuzz.case(number, [own], ()) for number in range(9)]
    case = next(case for case in made if own in case.records)

    def racks():
        return [aggregate.metadata.get('rack')
                for state in case.hosts().states() if state.host == 'own'
                for aggregate in state.aggregates]
    for state in case.hosts().states():
        for aggregate in state.aggregates:
            aggregate.metadata['rack'] = 'mine'
    case.request().flavor.vcpus = 77

    assert racks() == ['r1']
    assert case.request().flavor.vcpus != 77
