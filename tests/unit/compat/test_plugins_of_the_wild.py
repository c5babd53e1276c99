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
FULL = {'a': {'vcpus_total': 8, 'vcpus_used': 8}}
RACKS = {name: {'aggregates': [{'rack': f'r{number}'}]}
         for number, name in enumerate('ab', 1)}


def ratio(text):
    """Return hosts with that ratio of memory in their aggregates."""
    return {name: {'aggregates': [{'rack_ratio': text}],
                   'total_usable_ram_mb': 32768} for name in 'abc'}


def driver(*rules, options=None, **records):
    """Return a scheduler with these rules on the hosts a, b and c.

    records: columns of a host beside its free memory.
    """
    filters = [name for name in rules if name.endswith('Filter')]
    return MemoryScheduler(
        *(a_host(name, **{'free_ram_mb': free, 'ram_allocation_ratio': 1.0,
                          **records.get(name, {})})
          for name, free in FREE_RAM_MB.items()),
        available_filters=[f'{WILD}.{name}' for name in filters],
        enabled_filters=[name.rpartition('.')[2] for name in filters],
        weight_classes=[f'{WILD}.{name}' for name in rules
                        if name not in filters],
        **options or {})


@pytest.mark.parametrize(('rules', 'records', 'request_', 'passing'), [
    ('grizzly.ReservedMemoryFilter', {}, {'memory_mb': 488}, 'abc'),
    ('grizzly.ReservedMemoryFilter', {}, {'memory_mb': 489}, 'bc'),
    ('grizzly.ReservedMemoryFilter', {},
     {'memory_mb': 1000, 'project_id': 'pays'}, 'abc'),
    *(('kilo.HeadroomFilter', {}, {'memory_mb': size}, passing)
      for size, passing in ((909, 'abc'), (910, 'bc'), (1000, 'bc'),
                            (8182, 'bc'), (8183, 'c'))),
    # A filter's changes of filter_properties reach the next filter.
    ('kilo.NotesFilter kilo.SeenFilter', {}, {}, 'bc'),
    ('kilo.SeenFilter kilo.NotesFilter', {}, {}, 'abc'),
    *(('liberty.RackRamFilter', ratio(text), {'memory_mb': 4096}, passing)
      for text, passing in (('2.0', 'abc'), ('1.0', 'bc'), ('much', 'bc'),
                            ('0.1', ''))),
    ('liberty.PaidCoreFilter', FULL, {}, 'abc'),
    ('liberty.PaidCoreFilter', FULL, {'extra_specs': {'paid': 'yes'}}, 'bc'),
    *(('mitaka.RackFilter', RACKS, {'hints': hints}, passing)
      for hints, passing in (({'rack': ['r1']}, 'a'), ({'rack': ['r2']}, 'b'),
                             ({'rack': ['r3']}, ''), ({}, 'abc'))),
    ('pike.BothFilter', {'a': {'num_io_ops': 1}}, {}, 'b'),
    *(('queens.QuietHostsFilter', {'c': {'num_io_ops': 1}},
       {'extra_specs': specs}, passing) for specs, passing in (
        ({}, 'abc'), ({'quiet:io_ops': '1'}, 'ab'),
        ({'quiet:io_ops': '3'}, 'abc'), ({'quiet:io_ops': '0'}, ''))),
    *(('queens.AsIfPlainFilter', {'options': {
        'isolated_hosts': ['a'], 'isolated_images': [IMAGE_ID]}},
       {'project_id': project}, passing) for project, passing in (
        ('trusted', 'bc'), ('other', 'a'))),
    ('queens.EmptiestFilter', {}, {}, 'bc'),
    ('queens.EmptiestFilter', {}, {'hints': REBUILD}, 'bc'),
    *(('xena.SupportedImageFilter',
       {'a': {'aggregates': [{'no_systems': 'debian,windows'}]}},
       {'hints': hints, 'image_properties': {'os_distro': 'windows'}}, 'bc')
      for hints in ({}, REBUILD)),
    # Without Placement there are no candidates to filter.
    ('xena.NicFilter', {}, {'hints': {'not_nic': ['p1']}}, 'abc')])
def test_filter_passes_hosts(rules, records, request_, passing):
    try:
        [chosen] = with_alternates(driver(*rules.split(), **records),
                                   a_request(**request_))
    except exception.NoValidHost:
        chosen = ''
    assert ''.join(sorted(chosen)) == passing


@pytest.mark.parametrize(('weigher', 'records', 'request_', 'order'), [
    *(('juno.WantedHostWeigher', {'options': {
        'shuffle_best_same_weighed_hosts': False}}, {'hints': hints}, best)
      for hints, best in (
          ({'host_begins': ['b']}, 'b'), ({'host_begins': ['c']}, 'c'),
          ({}, 'a'), (None, 'a'), ({'host_begins': ['b', 'c']}, 'a'))),
    ('pike.RankWeigher', {}, {}, 'abc'),
    ('stein.MemoryWeigher', {}, {}, 'cba'),
    ('stein.MemoryWeigher', {name: {'aggregates': [{'memory_factor': '-1'}]}
                             for name in 'abc'}, {}, 'abc'),
    ('stein.FullestWeigher', {}, {'memory_mb': 4096}, 'c'),
    ('stein.FullestWeigher', {}, {'memory_mb': 512}, 'a')])
def test_weigher_orders_hosts(weigher, records, request_, order):
    [chosen] = with_alternates(driver(weigher, **records),
                               a_request(**request_))

    assert ''.join(chosen).startswith(order)


def test_queens_filter_runs_for_the_first_instance_alone():
    scheduler = driver('queens.EmptiestFilter')
    picks(scheduler, a_request(num_instances=2))

    assert [step.index for step in scheduler.decision.funnel.steps] == [0]


@pytest.mark.parametrize(('unwanted', 'left'), [
    (None, {'a': ['p1', 'p2'], 'b': ['p1']}), ('p1', {'a': ['p2'], 'b': []}),
    ('p2', {'a': ['p1'], 'b': ['p1']})])
def test_xena_filter_narrows_the_candidates_of_a_host(unwanted, left):
    conf = a_conf(available_filters=[f'{WILD}.xena.NicFilter'],
                  enabled_filters=['NicFilter'])
    nova_names.provide(conf)
    [rule] = loading.load_filters(conf)
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
