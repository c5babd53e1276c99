"""Unmodified plug-ins decide here as in Nova.

Blazar's filter is from PyPI; ../data/licensed_hosts.py and the modules in
../plugins_of_the_wild that a current Nova can load are files.
"""

import dataclasses
import os
import pathlib

import pytest

from nova_sched.compat import nova_names
from nova_sched.plugins import loading
from tests.builders import clouds
from tests.builders import hosts
from tests.builders import placement
from tests.builders import requests
from tests.builders import rules
from tests.functional import conftest as functional
from tests.functional import stage as stages
from tests.interop.conftest import Nova


@dataclasses.dataclass
class Case:
    """Plug-ins, a cloud and requests.

    filters, weighers: dotted paths.  options: as ``group__option``.
    questions: keywords of requests.a_request.
    """

    filters: list
    weighers: list
    options: dict
    cloud: dict
    questions: list


FILES = pathlib.Path(__file__).parent.parent / 'data'


def a_cloud(**aggregates):
    """Three hosts, and aggregates: name -> (hosts, metadata)."""
    return clouds.a_cloud(3, aggregates=[
        clouds.an_aggregate(number, hosts, name=name, metadata=metadata)
        for number, (name, (hosts, metadata))
        in enumerate(aggregates.items(), 1)])


def hinted(*values, **more):
    return {'hints': {'reservation': list(values)}, **more}


def licensed(product, **more):
    return {'extra_specs': {'licence:product': product}, **more}


BLAZAR = Case(
    ['blazarnova.scheduler.filters.blazar_filter.BlazarFilter'],
    ['nova.scheduler.weights.ram.RAMWeigher'],
    {'blazar:physical:host__aggregate_freepool_name': 'spare'},
    a_cloud(
        spare=(['host1'], {}),
        other=(['host2'], {'availability_zone': 'blazar_other',
                           'blazar:owner': 'another'}),
        lease=(['host3'], {'availability_zone': 'blazar_lease',
                           'blazar:owner': 'a-project'})),
    [{}, hinted('lease'), hinted('other'), hinted('lease', 'other'),
     hinted('nothing'), hinted('other', project_id='another'),
     hinted('lease', project_id='another')])

LICENCES = Case(
    ['licensed_hosts.LicenceFilter', 'licensed_hosts.SpareRamFilter'],
    ['licensed_hosts.LicenceWeigher'],
    {'licences__spare_ram_mb': 1000,
     'licences__metadata_key': 'licence_list'},
    a_cloud(
        licensed=(['host1', 'host2'], {'licence_list': 'db, os'}),
        old=(['host2'], {'licence_list': 'os'})),
    [{}, licensed('db'), licensed('os'), licensed('ai'),
     licensed('none at all'), {'memory_mb': 31256}, {'memory_mb': 31257},
     licensed('db', memory_mb=32000)])


WILD = pathlib.Path(__file__).parent.parent / 'plugins_of_the_wild'
OF_THE_WILD = Case(
    ['mitaka.RackFilter', 'queens.QuietHostsFilter', 'queens.AsIfPlainFilter',
     'xena.SupportedImageFilter', 'queens.EmptiestFilter'],
    ['stein.MemoryWeigher', 'stein.FullestWeigher'],
    {'filter_scheduler__isolated_hosts': 'host1',
     'filter_scheduler__isolated_images': requests.IMAGE_ID},
    a_cloud(
        one=(['host1'], {'rack': 'r1'}),
        two=(['host2', 'host3'], {'rack': 'r2', 'memory_factor': '-2'}),
        three=(['host3'], {'no_systems': 'debian,windows'})),
    [{}, {'project_id': 'trusted'}, {'hints': {'rack': ['r1']}},
     *({'project_id': 'trusted', **request} for request in (
         {'hints': {'rack': ['r2']}}, {'hints': {'rack': ['r3']}},
         {'extra_specs': {'quiet:io_ops': '0'}}, {'memory_mb': 4096},
         {'image_properties': {'os_distro': 'windows'}},
         {'image_properties': {'os_distro': 'windows'},
          'hints': {'_nova_check_type': ['rebuild']}}))])


#: Plug-ins that run others by Nova's handlers.
HANDLERS = Case(
    ['pike.BothFilter'], ['pike.RankWeigher'], {},
    clouds.a_cloud(4, compute_nodes=[
        clouds.a_compute_node(f'host{number}', free_ram_mb=free, stats=(
            f'{{"io_workload": "{load}"}}')) for number, free, load in (
            (1, 900, 0), (2, 8000, 1), (3, 9000, 0), (4, 32000, 0))]),
    [{}, {'memory_mb': 99}])


@pytest.mark.parametrize(('case', 'different'), [
    (BLAZAR, 3), (LICENCES, 3), (OF_THE_WILD, 3), (HANDLERS, 1)],
    ids=['blazar', 'licences', 'of the wild', 'handlers'])
def test_plug_ins_decide_as_in_nova(case, different, tmp_path, monkeypatch):
    """The same hosts in the same order, or an exception of the same name.

    different: least number of different answers.
    """
    folders = [FILES, WILD]
    for folder in folders:
        monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(map(str, folders)))
    nova = Nova(stages.write_config(tmp_path / 'nova.conf', **case.options))
    for question in case.questions:
        nova.will('decide', case.cloud, requests.a_request(**question),
                  case.filters, case.weighers)
    with functional.open_stage(tmp_path, 'fake') as stage:
        stage.load(case.cloud)
        stage.scheduler(
            filter_scheduler__available_filters=case.filters,
            filter_scheduler__enabled_filters=[','.join(
                path.rpartition('.')[2] for path in case.filters)],
            filter_scheduler__weight_classes=','.join(case.weighers),
            filter_scheduler__shuffle_best_same_weighed_hosts=False,
            # Nova does not count earlier requests either.
            nova_sched__pick_lifetime=0, **case.options)
        caller = stage.client()
        ours = [ours_to(caller, question) for question in case.questions]

    assert ours == [found.get('answer', found.get('error'))
                    for found in nova.answers()]
    assert len({str(found) for found in ours}) >= different


@pytest.mark.parametrize('unwanted', [None, 'p1', 'p2', 'p3'])
def test_candidates_are_narrowed_as_in_nova(tmp_path, monkeypatch, unwanted):
    """The same candidates of the same hosts."""
    monkeypatch.syspath_prepend(WILD)
    monkeypatch.setenv('PYTHONPATH', str(WILD))
    offered = {host: [placement.an_allocation_request(host, nic=[provider])
                      for provider in providers] for host, providers
               in {'host1': ['p1', 'p2'], 'host2': ['p1']}.items()}
    spec = requests.a_request(hints=unwanted and {'not_nic': [unwanted]})
    nova = Nova(stages.write_config(tmp_path / 'nova.conf'))
    conf = rules.a_conf(available_filters=['xena.NicFilter'],
                        enabled_filters=['NicFilter'])
    nova_names.provide(conf)
    rule, = loading.load_filters(conf)
    block = hosts.hosts(*(hosts.a_host(host, uuid=host) for host in offered))
    block.snapshot.offer = placement.Placement(offered).candidates()

    passing = rules.survivors(rule, block, spec)

    assert {state.host: state.allocation_candidates for state
            in block.states() if state.host in passing} == nova.answer(
        'narrow', clouds.a_cloud(2), spec, 'xena.NicFilter', offered)


def ours_to(caller, question):
    """Names of hosts, best first, or the name of the exception."""
    try:
        chosen, = caller.ask(requests.a_request(**question))
    except Exception as exc:
        name = type(exc).__name__
        return [] if name == 'NoValidHost' else getattr(
            exc, 'exc_type', name)
    return [selection.service_host for selection in chosen]
