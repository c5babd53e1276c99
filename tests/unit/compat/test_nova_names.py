"""Nova's module names lead here where Nova itself is not installed.

tests/data/plugin_names.txt has a row for each name that plug-ins of other
authors use: ``offered``, ``refused``, ``= VALUE``, or ``is OTHER NAME``.
"""

import ast
import functools
import importlib
import importlib.util
import pathlib
import pkgutil
import re
import sys
import types

import pytest

from nova_sched import exception
from nova_sched.compat import nova_names
from nova_sched.compat.nova import compute_api
from nova_sched.objects import base
from nova_sched.plugins import classes
from nova_sched.rules import nova_classes
from tests.builders import wild
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.unit import doc_pages

NAMES = [[*line.split(None, 2), ''][:3] for line in pathlib.Path(
    wild.DATA, 'plugin_names.txt').read_text().splitlines()]
#: Methods that a class may not override: refused when it is loaded.
OVERRIDES = 'schedule_run_instance', '_weight_multiplier'
PAGE = doc_pages.PAGES['plugins.rst']

pytestmark = pytest.mark.usefixtures('fresh_nova_names')


def resolve(name):
    """Return the module, class, function or value of a dotted name."""
    parts, module = name.split('.'), None
    for i in range(1, len(parts) + 1):
        try:
            module = importlib.import_module('.'.join(parts[:i]))
        except ImportError:
            return functools.reduce(attribute, parts[i - 1:], module)
    return module


def attribute(owner, name):
    """Return an attribute of a class, or of an object of Nova's APIs."""
    if isinstance(owner, type) and issubclass(owner, compute_api.LookupsOnly):
        owner = owner()
    return getattr(owner, name)


@pytest.mark.parametrize(('name', 'verb', 'value'), [
    row for row in NAMES if row[1] != 'refused'])
def test_name_is_offered(name, verb, value):
    """By import_module as well as by ``from MODULE import NAME``."""
    target = resolve(name)

    assert target is not None
    assert verb != '=' or target == ast.literal_eval(value)
    assert verb != 'is' or target is resolve(value)
    package, _, last = name.rpartition('.')
    if isinstance(resolve(package), types.ModuleType):
        imported = {}
        exec(f'from {package} import {last}', imported)
        assert imported[last] is target


@pytest.mark.parametrize('name', [
    name for name, verb, _ in NAMES if verb == 'refused'
    and name.rpartition('.')[2] not in OVERRIDES])
def test_name_is_refused_by_name(name):
    with pytest.raises((ImportError, AttributeError)) as caught:
        resolve(name)

    text = f'{caught.value}{nova_names.hint(caught.value)}'
    assert name in text
    assert (nova_names.NOT_OFFERED in text
            or 'is not offered in a scheduler' in text)


@pytest.mark.parametrize(('name', 'target'), nova_names.MODULES.items())
def test_module_is_the_same_object(name, target):
    """A copy's classes would differ from the classes here."""
    assert importlib.import_module(name) is importlib.import_module(target)
    assert sys.modules[target].__spec__.name == target


def modules_below(name):
    """Return the modules in the package of one of Nova's names."""
    spec = importlib.util.find_spec(nova_names.MODULES[name])
    return [module.name for module in pkgutil.iter_modules(
        spec.submodule_search_locations or ())]


BELOW = [(package, module) for package in nova_names.MODULES
         for module in modules_below(package)]


@pytest.mark.parametrize(('package', 'module'), BELOW)
def test_module_in_a_package_is_the_same_object(package, module):
    test_module_is_the_same_object(
        f'{package}.{module}', f'{nova_names.MODULES[package]}.{module}')


def test_all_filter_and_weigher_modules_of_nova_are_offered():
    assert {('nova.scheduler.filters', name)
            for name in nova_classes.FILTER_MODULES} | {
        ('nova.scheduler.weights', name)
        for name in nova_classes.WEIGHER_MODULES} <= set(BELOW)


def test_import_registers_no_second_objects():
    known = {name: list(classes) for name, classes
             in base.Registry._ours.items()}

    importlib.import_module('nova.objects.numa')

    assert dict(base.Registry._ours) == known


@pytest.mark.parametrize('statement', [
    'import nova.conf; nova.conf.CONF.filter_scheduler.enabled_filters',
    'import nova.volume.cinder; nova.volume.cinder.cinderclient',
    'from nova import compute; compute.API().get; compute.HostAPI',
    'import nova.compute.api; nova.compute.api.HostAPI',
    'import nova; assert eval("_(\'text\')", {}) == "text"'])
def test_statement_works(statement):
    exec(statement, {})


@pytest.mark.parametrize(('statement', 'name'), [
    *((f'import {name}', name) for name in (
        'nova.virt', 'nova.volume.api', 'nova.compute.manager',
        'nova.objects.no_such', 'nova.scheduler.filters.no_such')),
    ('from nova.scheduler import no_such', 'nova.scheduler.no_such'),
    ('from nova import no_such', 'nova.no_such'),
    ('import nova.virt.driver', 'nova.virt'),
    ('from nova.objects import no_such', 'nova.objects.no_such'),
    ('from nova.objects import fields; fields.NoSuch',
     'nova.objects.fields.NoSuch'),
    ('from nova import objects; objects.NoSuch', 'nova.objects.NoSuch'),
    ('from nova.scheduler.filters import affinity_filter as module\n'
     'class Mine(module._NoSuchFilter): pass',
     'nova.scheduler.filters.affinity_filter._NoSuchFilter'),
    ('from nova.scheduler.filters.affinity_filter import NoSuch',
     'nova.scheduler.filters.affinity_filter.NoSuch')])
def test_error_of_a_name_that_is_not_offered(statement, name):
    with pytest.raises((ImportError, AttributeError)) as caught:
        exec(statement, {})

    reason = ('is not offered by nova_sched where Nova is not installed; '
              'doc/source/plugins.rst says which names are')
    if isinstance(caught.value, ModuleNotFoundError):
        assert str(caught.value) == f"No module named '{name}': it {reason}"
    else:
        assert isinstance(caught.value, AttributeError) or (
            'cannot import name' in str(caught.value))
        assert nova_names.hint(caught.value) == f'; {name} {reason}'


@pytest.mark.parametrize('entrance', [
    lambda fails: classes.set_up(fails, 'option', 'mine.Filter'),
    lambda fails: classes._called(fails, 'option', 'mine.filters')])
def test_missing_name_is_reported_when_a_plug_in_is_made(entrance):
    """In its constructor, or in a function that lists classes."""
    def fails():
        from nova import objects
        return objects.NoSuch

    with pytest.raises(exception.ConfigurationError, match=(
            r'nova\.objects\.NoSuch is not offered by nova_sched')):
        entrance(fails)


@pytest.mark.parametrize('statement', [
    'import json; json.no_such', 'from json import no_such', '"".no_such',
    'import nova_sched.rpc; nova_sched.rpc.no_such', '1 / 0',
    'import no_such', 'from oslo_utils import timeutils; timeutils.no_such'])
def test_other_errors_have_no_hint(statement):
    importlib.import_module('nova.objects')
    with pytest.raises((ImportError, AttributeError, ZeroDivisionError)) as (
            caught):
        exec(statement, {})

    assert nova_names.hint(caught.value) == ''


def test_host_states_are_of_nova_s_class():
    from nova.scheduler import host_manager
    state, = hosts(a_host()).states()

    assert isinstance(state, host_manager.HostState)


def documented():
    """Return the page's table: module -> list of names."""
    table = {}
    rows = re.search(r'^Module .*?\n[= ]+\n(.*?)\n=', PAGE, re.M | re.S)[1]
    for row in rows.splitlines():
        name = row[:40].strip(' `') or list(table)[-1]
        table.setdefault(name, []).extend(re.findall(r'``(\w+)``', row[40:]))
    return table


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
    def test_lists_offered_names(self, module, name):
        if (module, name) not in BELOW:
            assert hasattr(importlib.import_module(module), name)
