"""Plug-ins written for Nova run unchanged.

One is installed from PyPI, others are in tests/data.  Kilo's tutorial is in
test_kilo_tutorial.py.
"""

import pathlib

import oslo_messaging as messaging
import pytest

from nova_sched import exception
from tests.builders import clouds
from tests.builders import requests
from tests.functional import conftest
from tests.functional import stage as stages

ALL_FILTERS = 'nova.scheduler.filters.all_filters'
FILES = pathlib.Path(__file__).parent.parent / 'data'


@pytest.fixture(params=conftest.IN_MEMORY_OR_REAL[:2])
def caller(request, tmp_path, monkeypatch):
    """Function that starts a scheduler on a cloud: a caller of it."""
    monkeypatch.syspath_prepend(FILES)
    monkeypatch.setenv('PYTHONPATH', str(FILES), prepend=':')
    with conftest.open_stage(tmp_path, request.param) as stage:
        def caller(cloud, **options):
            stage.load(cloud)
            stage.scheduler(**options)
            return stage.client()
        yield caller


def a_cloud(**aggregates):
    """Three hosts, and aggregates: name -> (hosts, metadata)."""
    return clouds.a_cloud(3, aggregates=[
        clouds.an_aggregate(number, hosts, name=name, metadata=metadata)
        for number, (name, (hosts, metadata))
        in enumerate(aggregates.items(), 1)])


def test_blazars_filter_keeps_reserved_hosts_for_their_reservation(caller):
    """Its option of the configuration file counts."""
    ask = caller(
        a_cloud(spare=(['host1'], {}),
                lease=(['host2'], {'availability_zone': 'blazar_lease',
                                   'blazar:owner': 'a-project'})),
        filter_scheduler__available_filters=[
            ALL_FILTERS,
            'blazarnova.scheduler.filters.blazar_filter.BlazarFilter'],
        filter_scheduler__enabled_filters='BlazarFilter',
        **{'blazar:physical:host__aggregate_freepool_name': 'spare'}).ask

    assert stages.names(ask()) == [['host3']]
    assert stages.names(ask(requests.a_request(
        hints={'reservation': ['lease']}))) == [['host2']]
    with pytest.raises(exception.NoValidHost,
                       match='0 of 3 hosts: 3 BlazarFilter'):
        ask(requests.a_request(hints={'reservation': ['lease']},
                               project_id='another'))


def test_operators_filters_and_weigher_run(caller):
    """They have own options, Nova's options, a built-in as base class and an
    exception.
    """
    ask = caller(
        a_cloud(licensed=(['host1', 'host2'], {'licence_list': 'db, os'}),
                old=(['host2'], {'licence_list': 'os'})),
        filter_scheduler__available_filters=[
            ALL_FILTERS, 'licensed_hosts.LicenceFilter',
            'licensed_hosts.SpareRamFilter'],
        filter_scheduler__enabled_filters='LicenceFilter,SpareRamFilter',
        filter_scheduler__weight_classes='licensed_hosts.LicenceWeigher',
        licences__spare_ram_mb=1000,
        licences__metadata_key='licence_list').ask

    def licensed(product):
        return requests.a_request(extra_specs={'licence:product': product})

    assert stages.names(ask()) == [['host3', 'host1', 'host2']]
    assert stages.names(ask(licensed('db'))) == [['host1', 'host2']]
    with pytest.raises(exception.NoValidHost):
        ask(licensed('ai'))
    with pytest.raises(exception.NoValidHost,
                       match='3 SpareRamFilter'):
        ask(requests.a_request(memory_mb=32000))
    with pytest.raises(Exception, match='no licence for none at all'):
        ask(licensed('none at all'))


@pytest.mark.parametrize('options', [
    {'scheduler__host_manager': 'row_plug_ins.MethodicalManager'},
    {'scheduler__driver': 'row_plug_ins.QueensScheduler',
     'scheduler__host_manager': 'row_plug_ins.RackManager'}])
def test_host_manager_and_driver_of_queens_override_steps(caller, options):
    """They work on host states, and halve the memory of hosts."""
    ask = caller(clouds.a_cloud(['a', 'b', 'c'], compute_nodes=[
        clouds.a_compute_node(host, memory_mb=8192, free_ram_mb=free)
        for host, free in (('a', 2048), ('b', 4096), ('c', 8192))]),
        filter_scheduler__enabled_filters='RamFilter,ComputeFilter',
        **options).ask

    def of(memory_mb):
        return requests.a_request(flavor=requests.a_flavor(
            memory_mb=memory_mb))

    with pytest.raises(exception.NoValidHost, match='No valid host'):
        ask(of(4097))
    assert stages.names(ask(of(4096)))[0] == ['c']


@pytest.mark.real
def test_debugger_in_a_worker_fails_the_request_with_advice(stage, tmp_path):
    """The worker goes on."""
    (tmp_path / 'traced.py').write_text(
        'import pdb\n\nfrom nova.scheduler import filters\n\n\n'
        'class TracedFilter(filters.BaseHostFilter):\n'
        '    def host_passes(self, host_state, spec_obj):\n'
        '        pdb.set_trace()\n        return True\n')
    stage.load(clouds.a_cloud(3))
    daemon = stage.daemon(
        environ={'PYTHONPATH': str(tmp_path)},
        filter_scheduler__available_filters=[ALL_FILTERS,
                                             'traced.TracedFilter'],
        filter_scheduler__enabled_filters='TracedFilter')

    with pytest.raises(messaging.RemoteError, match='BdbQuit'):
        stage.client().ask()

    daemon.wait_for_lines('run "nova-sched --no-fork" in a terminal')
