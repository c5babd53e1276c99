"""What tests of plug-ins under Nova's names share."""

import sys
import types

import pytest

from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.scheduler import loading
from tests.builders import rules
from tests.builders import wild
from tests.builders.clouds import a_compute_node

#: Memory that is free on the hosts of ``plug_ins``, in MB.
FREE = {'a': 8192, 'b': 16384, 'c': 4096}


@pytest.fixture
def wild_plug_ins(monkeypatch):
    """The modules of tests/data can be imported, anew."""
    before = {*sys.modules}
    monkeypatch.syspath_prepend(wild.DATA)
    yield
    for name in {*sys.modules} - before:
        if name.startswith('wild_'):
            del sys.modules[name]
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def cinderclient(monkeypatch):
    """A library of that name; what is asked for a Client returns it."""
    client = types.ModuleType('cinderclient.client')
    client.Client = lambda version, **kwargs: {'version': version, **kwargs}
    for name, module in (('cinderclient', types.ModuleType('cinderclient')),
                         ('cinderclient.client', client)):
        monkeypatch.setitem(sys.modules, name, module)
    yield client
    sys.modules.pop('nova_sched.compat.nova.cinder', None)


@pytest.fixture
def nova_names_anew(cinderclient):
    """The names, provided; nothing is imported by them yet."""
    def take():
        return {name: sys.modules.pop(name) for name in list(sys.modules)
                if name.partition('.')[0] == 'nova'}
    kept = take()
    nova_names.provide(rules.a_conf())
    yield
    take()
    sys.modules.update(kept)


@pytest.fixture
def plug_ins(monkeypatch, cloud):
    """The module of the plug-ins, imported anew."""
    monkeypatch.syspath_prepend(wild.DATA)
    cloud.load_nodes(*(a_compute_node(
        host, free_ram_mb=free, cpu_allocation_ratio=1.0)
        for host, free in FREE.items()))
    nova_names.provide(rules.a_conf())
    import row_plug_ins as made
    yield made
    sys.modules.pop('row_plug_ins', None)
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def a_driver(cloud, plug_ins):
    """Function: a started driver by the names of the plug-ins.

    driver: its class.  manager: that of its host manager.
    """
    def a_driver(driver=None, manager=None, **options):
        if manager:
            options['scheduler__host_manager'] = f'row_plug_ins.{manager}'
        options.setdefault('filter_scheduler__enabled_filters', [
            'RamFilter', 'ComputeFilter'])
        options['filter_scheduler__weight_classes'] = [
            'nova.scheduler.weights.ram.RAMWeigher']
        made = loading.load_driver(cloud.conf(
            scheduler__driver=(f'row_plug_ins.{driver}' if driver
                               else 'filter_scheduler'), **options))
        made.start()
        return made
    return a_driver
