"""``request plan`` with a real Placement: the same hosts, and no changes."""

import pytest
import sqlalchemy as sa

from nova_sched.explain.matrix import OFFERED
from nova_sched.explain.matrix import judge
from tests.builders import clouds
from tests.builders import commands
from tests.builders import http_neutron
from tests.builders.examples import so_many
from tests.functional import captured_plans as captured
from tests.functional import captures
from tests.functional import conftest as functional
from tests.functional import stage as stages
from tests.functional.test_plan import done
from tests.functional.test_plan import planned
from tests.functional.test_plan import rows
from tests.functional.test_plan import spec_of
from tests.interop.placement import a_consumer

pytestmark = pytest.mark.real

SHAPES = {
    'small': [],
    'two of them': ['--count', '2', '--ram', '3000'],
    'two that no host has room for': ['--count', '2', '--ram', '5000'],
    'more than there is room for': ['--count', '7', '--ram', '5000'],
    'with a trait': ['--extra-spec', 'trait:CUSTOM_GOLD=required'],
    'apart': ['--count', '3', '--group-policy', 'anti-affinity'],
    'too large': ['--ram', '1000000'],
    'with an unknown trait': ['--extra-spec', 'trait:CUSTOM_NO=required']}
REFUSED = ['more than there is room for', 'too large', 'with an unknown trait']
HOSTS = 6


@pytest.fixture(autouse=True)
def plans():
    """Undo the restrictions that plans put on this process."""
    with commands.plans_undone():
        yield


def _provide(placement, node, aggregates):
    """Create the provider of a compute node, with its aggregates."""
    placement.provider(
        node['hypervisor_hostname'], node['uuid'],
        {'VCPU': 16, 'MEMORY_MB': 8000, 'DISK_GB': 500, 'CUSTOM_NOSUCH': 1},
        ['OWNER_NOVA', 'COMPUTE_NODE', 'HW_CPU_X86_AVX2'],
        [aggregate['uuid'] for aggregate in aggregates
         if node['host'] in aggregate['hosts']])


@pytest.fixture
def stage(tmp_path, placement):
    """A Stage with Placement, which has providers of all hosts."""
    with functional.open_stage(
            tmp_path, nova_sched__no_valid_host_text='full',
            nova_sched__candidates='list', **placement.settings) as stage:
        stage.load(clouds.a_cloud(compute_nodes=[
            clouds.a_compute_node(
                f'host{number}', uuid=placement.provider(
                    f'host{number}', a_consumer(),
                    {'VCPU': 16, 'MEMORY_MB': 8000, 'DISK_GB': 500},
                    ['OWNER_NOVA', *(['CUSTOM_GOLD'] if number % 2 else [])]),
                free_ram_mb=30000 - 1000 * number)
            for number in range(1, HOSTS + 1)], hosts=HOSTS))
        yield stage


@pytest.fixture
def plan(stage, capsys):
    """Function that runs "request plan -f json": its object."""
    return lambda *options: commands.plan(stage, capsys, *options)[1]


def test_plans_change_neither_databases_nor_placement(stage, placement, plan):
    engine = sa.create_engine(placement.database_url)
    before = rows(stage.engine()), rows(engine)

    found = {name: plan(*options) for name, options in SHAPES.items()}

    assert (rows(stage.engine()), rows(engine)) == before
    engine.dispose()
    assert [name for name, planned in found.items()
            if planned['outcome'] == 'refused'] == REFUSED
    # No host fits if Placement offers none.
    assert [planned['why']['matrix']['fitting']
            for name, planned in found.items()
            if name in REFUSED] == [0] * len(REFUSED)
    assert found['small']['placement'] == {'asked': True, 'offered': HOSTS}
    assert found['with a trait']['placement']['offered'] == HOSTS // 2


def test_decision_equals_its_plan(stage, placement, plan):
    """The stored decision has Placement's candidates and claims."""
    scheduler, caller = stage.embedded(), stage.client()
    for name, options in SHAPES.items():
        expected = planned(plan(*options))
        _, answer, uuids = done(caller, spec_of(options))
        if answer is None:
            assert name in REFUSED
            assert isinstance(expected, str)
            continue
        assert expected == stages.names(answer)
        assert all(placement.consumer(uuid)['allocations'] for uuid in uuids)
        kept, past = _kept(scheduler, uuids[-1])
        assert [[pick['host'], *(other['host'] for other in (
            pick['alternates']))] for pick in kept['picks']] == expected
        assert {claim['instance'] for claim in kept['claims']
                if claim['taken']} == {*uuids}
        # Deciding again from the store accounts for all hosts.
        offered = kept['candidates']['providers']
        matrix = judge(past.hosts(scheduler.driver.host_manager),
                       past.request().spec_obj, scheduler.driver.ranker)
        assert dict(zip(matrix.rules, matrix.rejected.sum(axis=1).tolist(),
                        strict=True))[OFFERED] == HOSTS - offered


def test_plan_explains_missing_candidates(stage, placement, plan):
    """By resource and trait, with figures of a host that --host names."""
    large, traits, unknown = (plan(*options) for options in (
        ['--ram', '9000', '--host', 'host1'],
        ['--extra-spec', 'trait:CUSTOM_GOLD=required', '--vcpus', '17'],
        ['--extra-spec', 'trait:CUSTOM_NO=required']))

    assert (large['code'], large['kind']) == (
        'placement_offers_none', 'no_capacity')
    assert _rejects(large) == {'Placement: MEMORY_MB': HOSTS}
    [why_not] = large['why_not']
    assert why_not['rejected_by'] == [{
        'rule': 'Placement: MEMORY_MB',
        'code': 'placement_resource',
        'reason': 'it cannot provide 9000 MEMORY_MB',
        'figures': [{'what': 'MEMORY_MB', 'kind': 'left',
                     'need_memory_mb': 9000, 'have_memory_mb': 8000,
                     'lacking_memory_mb': 1000}]}]
    assert _rejects(traits) == {'Placement: VCPU': HOSTS,
                                'Placement: trait CUSTOM_GOLD': HOSTS // 2}
    assert _rejects(unknown) == {'Placement: trait CUSTOM_NO': HOSTS}


def _rejects(found):
    """Numbers of hosts that each rule of a plan rejects."""
    return {rule['name']: rule['rejects']
            for rule in found['why']['matrix']['rules'] if rule['rejects']}


@pytest.mark.parametrize('backend', [
    'fake', 'real', functional.POSTGRESQL][:so_many(3)])
@pytest.mark.parametrize('era', captures.ERAS)
def test_captured_requests_are_decided_as_planned(
        tmp_path, placement, backend, era, capsys):
    """The plans change neither a database nor Placement."""
    with http_neutron.neutron() as neutron, functional.open_stage(
            tmp_path, backend, **captured.OPTIONS, **placement.settings,
            nova_sched__candidates='list',
            neutron__auth_type='none', neutron__endpoint_override=neutron.url,
            filter_scheduler__enabled_filters=','.join(
                captured.FILTERS)) as stage:
        cloud = captured.cloud(era)
        stage.load(cloud)
        neutron.on('GET', '/v2.0/ports/', http_neutron.a_port())
        for node in cloud['compute_nodes']:
            _provide(placement, node, cloud['aggregates'])
        engine = sa.create_engine(placement.database_url)
        before = rows(stage.engine()), rows(engine)

        found = captured.plans_of(stage, capsys, era)

        assert (rows(stage.engine()), rows(engine)) == before
        engine.dispose()
        assert captured.differing(stage, found, lambda uuids: [
            placement.allocate(uuid, {}) for uuid in uuids]) == {}
        assert [name for name, plan in found.items() if plan['reason']] == [
            name for name in found if name.endswith(captured.REFUSED)]


def _kept(scheduler, uuid):
    """The stored decision on an instance: (document, past decision)."""
    return captured.once_kept(
        scheduler, uuid, lambda store, number: (
            store.document(number), store.past(number)))
