"""Nova's module names lead here where Nova itself is not installed."""

import importlib
import importlib.util
import pkgutil
import re
import sys

import pytest

from nova_sched import exception
from nova_sched.compat import nova_names
from nova_sched.plugins import classes
from nova_sched.rules import nova_classes
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.unit import doc_pages

PAGE = doc_pages.PAGES['plugins.rst']

pytestmark = pytest.mark.usefixtures('nova_names_anew')


@pytest.mark.parametrize('name, ours', nova_names.MODULES.items())
def test_lead_to_the_very_modules_here(name, ours):
    """Not to copies, whose classes would be others."""
    assert importlib.import_module(name) is importlib.import_module(ours)
    assert sys.modules[ours].__spec__.name == ours


def modules_below(name):
    """The modules in the package that a name of Nova's leads to."""
    spec = importlib.util.find_spec(nova_names.MODULES[name])
    return [module.name for module in pkgutil.iter_modules(
        spec.submodule_search_locations or ())]


BELOW = [(package, module) for package in nova_names.MODULES
         for module in modules_below(package)]


@pytest.mark.parametrize(('package', 'module'), BELOW)
def test_lead_to_the_very_modules_in_a_package(package, module):
    ours = f'{nova_names.MODULES[package]}.{module}'

    assert importlib.import_module(
        f'{package}.{module}') is importlib.import_module(ours)
    assert sys.modules[ours].__spec__.name == ours


def test_cover_nova_s_filters_and_weighers():
    assert {('nova.scheduler.filters', name)
            for name in nova_classes.FILTER_MODULES} | {
        ('nova.scheduler.weights', name)
        for name in nova_classes.WEIGHER_MODULES} <= set(BELOW)


def test_make_no_second_objects():
    """Copies would take the places of ours in their registry."""
    from nova_sched.objects import base
    known = {name: list(classes) for name, classes
             in base.Registry._ours.items()}

    importlib.import_module('nova.objects.numa')

    assert dict(base.Registry._ours) == known


@pytest.mark.parametrize('statement', [
    'from nova import filters, weights, objects, context, exception',
    'from nova.scheduler import filters, weights',
    'from nova.scheduler.filters import utils, extra_specs_ops',
    'from nova.scheduler.filters.ram_filter import RamFilter',
    'from nova.scheduler.weights.ram import RAMWeigher',
    'import nova.conf; nova.conf.CONF.filter_scheduler.enabled_filters',
    'from nova.i18n import _, _LE, _LI, _LW',
    'from nova.openstack.common import log as logging',
    'from nova.objects.request_spec import RequestSpec',
    'from nova.context import get_admin_context',
    'from nova.exception import NovaException, NotFound, Invalid',
    'from nova.compute import power_state, task_states, vm_states',
    'from nova.scheduler.host_manager import HostState',
    'from nova.scheduler.filters import CandidateFilterMixin',
    'from nova.scheduler.filters.extra_specs_ops import op_methods',
    'from nova.i18n import translate',
    'from nova import compute; compute.API().get; compute.api.HostAPI',
    'from nova.compute import api, hv_type, power_state, rpcapi',
    'from nova.volume import cinder; import nova.volume.cinder',
    'from nova.api.openstack import common; common.get_instance',
    'from nova import cache_utils, service_auth',
])
def test_can_be_imported_in_every_way(statement):
    exec(statement, {})


@pytest.mark.parametrize('name', [
    'nova.virt', 'nova.volume.api', 'nova.compute.manager',
    'nova.objects.no_such', 'nova.scheduler.filters.no_such',
    'nova.conf.compute'])
def test_of_other_modules_are_not_there(name):
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


@pytest.mark.parametrize(('statement', 'name'), [
    ('import nova.objects.no_such', 'nova.objects.no_such'),
    ('from nova.scheduler import no_such', 'nova.scheduler.no_such'),
    ('from nova import no_such', 'nova.no_such'),
    ('import nova.virt.driver', 'nova.virt')])
def test_of_what_is_not_offered_say_just_that(statement, name):
    with pytest.raises(ModuleNotFoundError) as caught:
        exec(statement, {})

    assert str(caught.value) == (
        f"No module named '{name}': it is not offered by nova_sched where "
        'Nova is not installed; doc/source/plugins.rst says which names are')


@pytest.mark.parametrize(('statement', 'name'), [
    ('from nova.objects import no_such', 'nova.objects.no_such'),
    ('from nova.objects import fields; fields.NoSuch',
     'nova.objects.fields.NoSuch'),
    ('from nova import objects; objects.NoSuch', 'nova.objects.NoSuch'),
    ('from nova.scheduler.filters import affinity_filter as module\n'
     'class Mine(module._NoSuchFilter): pass',
     'nova.scheduler.filters.affinity_filter._NoSuchFilter'),
    ('from nova.scheduler.filters.affinity_filter import NoSuch',
     'nova.scheduler.filters.affinity_filter.NoSuch')])
def test_of_what_a_module_here_lacks_it_is_said_at_the_start(statement, name):
    with pytest.raises((ImportError, AttributeError)) as caught:
        exec(statement, {})

    assert nova_names.hint(caught.value) == (
        f'; {name} is not offered by nova_sched where Nova is not installed; '
        'doc/source/plugins.rst says which names are')


@pytest.mark.parametrize('entrance', [
    lambda fails: classes.set_up(fails, 'option', 'mine.Filter'),
    lambda fails: classes._called(fails, 'option', 'mine.filters')])
def test_of_what_a_module_here_lacks_it_is_said_of_what_runs_later(entrance):
    """A plug-in may look for it when it is made, or lists its classes."""
    def fails():
        from nova import objects
        return objects.NoSuch

    with pytest.raises(exception.ConfigurationError) as caught:
        entrance(fails)

    assert 'nova.objects.NoSuch is not offered by nova_sched' in str(
        caught.value)


@pytest.mark.parametrize('statement', [
    'import json; json.no_such', 'from json import no_such', '"".no_such',
    'import nova_sched.rpc; nova_sched.rpc.no_such', '1 / 0',
    'import no_such', 'from oslo_utils import timeutils; timeutils.no_such'])
def test_of_other_errors_nothing_is_said(statement):
    importlib.import_module('nova.objects')
    with pytest.raises((ImportError, AttributeError, ZeroDivisionError)) as (
            caught):
        exec(statement, {})

    assert nova_names.hint(caught.value) == ''


@pytest.mark.parametrize(('module', 'names'), [
    ('aggregate', 'Aggregate AggregateList'), ('flavor', 'Flavor'),
    ('cell_mapping', 'CellMapping'), ('host_mapping', 'HostMapping'),
    ('compute_node', 'ComputeNode ComputeNodeList'),
    ('image_meta', 'ImageMeta ImageMetaProps'),
    ('instance', 'Instance InstanceList'), ('instance_group', 'InstanceGroup'),
    ('instance_numa', 'InstanceNUMACell InstanceNUMATopology'),
    ('instance_numa_topology', 'InstanceNUMACell InstanceNUMATopology'),
    ('instance_pci_requests', 'InstancePCIRequest InstancePCIRequests'),
    ('network_metadata', 'NetworkMetadata'),
    ('network_request', 'NetworkRequest NetworkRequestList'),
    ('numa', 'NUMATopologyLimits'), ('selection', 'Selection'),
    ('request_spec', 'RequestSpec Destination RequestGroup SchedulerLimits '
                     'SchedulerRetries'),
    ('security_group', 'SecurityGroup SecurityGroupList'),
    ('service', 'Service ServiceList'),
    ('virt_cpu_topology', 'VirtCPUTopology')])
def test_of_objects_are_where_nova_has_them(module, names):
    found = importlib.import_module(f'nova.objects.{module}')
    objects = importlib.import_module('nova.objects')

    imported = {}
    exec(f'from nova.objects import {module}', imported)
    assert imported[module] is found
    for name in names.split():
        assert getattr(found, name) is getattr(objects, name)


def test_of_host_states_is_that_of_those_that_plug_ins_get():
    from nova.scheduler import host_manager
    state, = hosts(a_host()).states()

    assert isinstance(state, host_manager.HostState)


@pytest.mark.parametrize(('name', 'value'), [
    ('vm_states.ACTIVE', 'active'), ('vm_states.SOFT_DELETED', 'soft-delete'),
    ('task_states.RESIZE_MIGRATED', 'resize_migrated'),
    ('task_states.POWERING_OFF', 'powering-off'), ('power_state.NOSTATE', 0),
    ('power_state.RUNNING', 1), ('power_state.PAUSED', 3),
    ('power_state.SHUTDOWN', 4), ('power_state.CRASHED', 6),
    ('power_state.SUSPENDED', 7), ('power_state.STATE_MAP', {
        0: 'pending', 1: 'running', 3: 'paused', 4: 'shutdown', 6: 'crashed',
        7: 'suspended'})])
def test_of_states_stand_for_what_nova_writes(name, value):
    module, _, constant = name.partition('.')

    assert getattr(importlib.import_module(f'nova.compute.{module}'),
                   constant) == value


def documented():
    """What the page on plug-ins says is there: module -> list of names."""
    found = {}
    rows = re.search(r'^Module .*?\n[= ]+\n(.*?)\n=', PAGE, re.M | re.S)[1]
    for row in rows.splitlines():
        name = row[:40].strip(' `') or list(found)[-1]
        found.setdefault(name, []).extend(re.findall(r'``(\w+)``', row[40:]))
    return found


class TestDocumentation:
    def test_lists_all_modules(self):
        assert documented().keys() == nova_names.MODULES.keys()

    @pytest.mark.parametrize('name', nova_names.RENAMED)
    def test_lists_modules_that_have_other_names_here(self, name):
        package, _, module = name.rpartition('.')
        text = re.search(rf'^More modules of ``{package}``.*?\.$', PAGE,
                         re.M | re.S)[0]

        assert f'``{module}``' in text

    @pytest.mark.parametrize(('module', 'name'), [
        (module, name) for module, names in documented().items()
        for name in names])
    def test_lists_names_that_are_there(self, module, name):
        if (module, name) not in BELOW:
            assert hasattr(importlib.import_module(module), name)


def test_of_what_a_package_lacks_cannot_be_imported_from_it():
    with pytest.raises(ImportError, match='cannot import name'):
        exec('from nova.objects import no_such', {})
