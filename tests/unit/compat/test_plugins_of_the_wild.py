"""Plug-ins in the shapes of Nova's releases decide without a Nova."""

import pytest

from nova_sched import exception
from nova_sched.compat import nova_names
from nova_sched.plugins import loading
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import with_alternates
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request
from tests.builders.requests import IMAGE_ID
from tests.builders.requests import a_request
from tests.builders.rules import a_conf
from tests.builders.rules import survivors

WILD = 'tests.plugins_of_the_wild'
REBUILD = {'_nova_check_type': ['rebuild']}
FREE_RAM_MB = {'a': 1000, 'b': 9000, 'c': 30000}


def path(name):
    return f'{WILD}.{name}'


def driver(*filters, weigher=None, options=None, **hosts_):
    """A scheduler on the hosts a, b and c, loaded by its configuration."""
    records = [a_host(name, **{'free_ram_mb': free, 'ram_allocation_ratio':
                               1.0, **hosts_.get(name, {})})
               for name, free in FREE_RAM_MB.items()]
    return MemoryScheduler(
        *records, available_filters=[path(name) for name in filters],
        enabled_filters=[name.rpartition('.')[2] for name in filters],
        weight_classes=[path(weigher)] if weigher else [],
        **options or {})


def passing(driver, **request):
    """The names of the hosts that can be had, sorted."""
    try:
        chosen, = with_alternates(driver, a_request(**request))
    except exception.NoValidHost:
        return ''
    return ''.join(sorted(chosen))


@pytest.mark.parametrize(('request_', 'left'), [
    ({'memory_mb': 488}, 'abc'), ({'memory_mb': 489}, 'bc'),
    ({'memory_mb': 1000, 'project_id': 'pays'}, 'abc')])
def test_grizzly(request_, left):
    assert passing(driver('grizzly.ReservedMemoryFilter'), **request_) == left


@pytest.mark.parametrize(('hints', 'picked'), [
    ({'host_begins': ['b']}, 'b'), ({'host_begins': ['c']}, 'c'), ({}, 'a'),
    (None, 'a'), ({'host_begins': ['b', 'c']}, 'a')])
def test_juno(hints, picked):
    assert picks(driver(weigher='juno.WantedHostWeigher', options={
        'shuffle_best_same_weighed_hosts': False}),
        a_request(hints=hints)) == [picked]


@pytest.mark.parametrize(('memory_mb', 'left'), [
    (909, 'abc'), (910, 'bc'), (1000, 'bc'), (8182, 'bc'), (8183, 'c')])
def test_kilo_asks_a_built_in_with_a_changed_copy(memory_mb, left):
    assert passing(driver('kilo.HeadroomFilter'), memory_mb=memory_mb) == left


def test_kilo_writes_to_the_properties():
    both = ['kilo.NotesFilter', 'kilo.SeenFilter']

    assert passing(driver(*both)) == 'bc'
    assert passing(driver(*both[::-1])) == 'abc'


@pytest.mark.parametrize(('ratio', 'left'), [
    ('2.0', 'abc'), ('1.0', 'bc'), ('much', 'bc'), ('0.1', '')])
def test_liberty_has_a_base_for_ratios_of_memory(ratio, left):
    racks = {name: {'aggregates': [{'rack_ratio': ratio}],
                    'total_usable_ram_mb': 32768} for name in 'abc'}

    assert passing(driver('liberty.RackRamFilter', **racks),
                   memory_mb=4096) == left


@pytest.mark.parametrize(('specs', 'left'), [
    ({}, 'abc'), ({'paid': 'yes'}, 'bc')])
def test_liberty_has_a_base_for_ratios_of_cpus(specs, left):
    full = {'vcpus_total': 8, 'vcpus_used': 8}

    assert passing(driver('liberty.PaidCoreFilter', a=full), vcpus=1,
                   extra_specs=specs) == left


@pytest.mark.parametrize(('rack', 'left'), [
    ('r1', 'a'), ('r2', 'b'), ('r3', ''), (None, 'abc')])
def test_mitaka(rack, left):
    racks = {'a': {'aggregates': [{'rack': 'r1'}]},
             'b': {'aggregates': [{'rack': 'r2'}]}}

    assert passing(driver('mitaka.RackFilter', **racks),
                   hints={'rack': [rack]} if rack else {}) == left


@pytest.mark.parametrize(('most', 'left'), [
    (None, 'abc'), ('1', 'ab'), ('3', 'abc'), ('0', '')])
def test_queens_gives_a_built_in_its_maximum(most, left):
    specs = {} if most is None else {'quiet:io_ops': most}

    assert passing(driver('queens.QuietHostsFilter', c={'num_io_ops': 1}),
                   extra_specs=specs) == left


@pytest.mark.parametrize(('project', 'left'), [
    ('trusted', 'bc'), ('other', 'a')])
def test_queens_asks_a_built_in_with_a_changed_clone(project, left):
    options = {'isolated_hosts': ['a'], 'isolated_images': [IMAGE_ID]}

    assert passing(driver('queens.AsIfPlainFilter', options=options),
                   project_id=project) == left


def test_queens_judges_all_hosts_together():
    assert passing(driver('queens.EmptiestFilter')) == 'bc'
    assert passing(driver('queens.EmptiestFilter'),
                   hints=REBUILD) == 'bc'


def test_queens_runs_for_the_first_instance_alone():
    asked = driver('queens.EmptiestFilter')
    picks(asked, a_request(num_instances=2))

    assert [step.index for step in asked.decision.funnel.steps] == [0]


def test_pike_runs_filters_that_no_option_names():
    assert passing(driver('pike.BothFilter', a={'num_io_ops': 1})) == 'b'


def test_pike_ranks_by_weighers_that_no_option_names():
    assert with_alternates(driver(weigher='pike.RankWeigher'),
                           a_request()) == [['a', 'b', 'c']]


@pytest.mark.parametrize(('factor', 'order'), [
    (None, 'cba'), ('-1', 'abc')])
def test_stein_weighs_within_bounds(factor, order):
    aggregates = [{'memory_factor': factor}] if factor else []

    assert with_alternates(driver(
        weigher='stein.MemoryWeigher', **{
            name: {'aggregates': aggregates} for name in 'abc'}),
        a_request()) == [[*order]]


@pytest.mark.parametrize(('memory_mb', 'picked'), [(4096, 'c'), (512, 'a')])
def test_stein_turns_what_a_built_in_answers(memory_mb, picked):
    assert picks(driver(weigher='stein.FullestWeigher'),
                 a_request(memory_mb=memory_mb)) == [picked]


@pytest.mark.parametrize('hints', [{}, REBUILD])
def test_xena_judges_rebuilds_too(hints):
    assert passing(
        driver('xena.SupportedImageFilter',
               a={'aggregates': [{'no_systems': 'debian,windows'}]}),
        hints=hints, image_properties={'os_distro': 'windows'}) == 'bc'


@pytest.mark.parametrize(('unwanted', 'left'), [
    (None, {'a': ['p1', 'p2'], 'b': ['p1']}), ('p1', {'a': ['p2'], 'b': []}),
    ('p2', {'a': ['p1'], 'b': ['p1']})])
def test_xena_narrows_the_candidates_of_a_host(unwanted, left):
    conf = a_conf(available_filters=[path('xena.NicFilter')],
                  enabled_filters=['NicFilter'])
    nova_names.provide(conf)
    rule, = loading.load_filters(conf)
    block = hosts(*(a_host(name, uuid=name) for name in 'ab'))
    block.snapshot.offer = Placement({
        name: [an_allocation_request(name, nic=[provider])
               for provider in providers] for name, providers
        in {'a': ['p1', 'p2'], 'b': ['p1']}.items()}).candidates()
    spec_obj = a_request(hints=unwanted and {'not_nic': [unwanted]})

    assert survivors(rule, block, spec_obj) == [
        name for name in left if left[name]]
    assert {state.host: [candidate['mappings']['nic'][0] for candidate
                         in state.allocation_candidates]
            for state in block.states()} == left


def test_xena_passes_where_placement_was_not_asked():
    assert passing(driver('xena.NicFilter'), hints={'not_nic': ['p1']}) == (
        'abc')
