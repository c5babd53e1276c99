"""Paths in options lead to classes, or to one clear message."""

import abc
import sys
import types

import pytest

from nova_sched import exception
from nova_sched.plugins import classes
from nova_sched.rules import loadables
from nova_sched.rules import nova_classes
from tests.builders import wild

OPTION = '[filter_scheduler] available_filters'


class Base:
    """The base class of the plug-ins here."""


class RamFilter(Base):
    """Has the name of a built-in, as the next three."""


class DiskFilter(Base):
    pass


class RAMWeigher(Base):
    pass


class IoOpsWeigher(Base):
    pass


class AbstractBase(Base, abc.ABC):
    @abc.abstractmethod
    def judge(self):
        """To be defined in subclasses."""


FILTERS = [DiskFilter, RamFilter]


@pytest.fixture
def plugin(monkeypatch):
    """A third party's module, importable as ``example_plugin``."""
    module = types.ModuleType('example_plugin')
    for name in ('MyFilter', 'RamFilter', '_Private'):
        setattr(module, name, type(name, (Base,), {}))
    module.Alien = type('Alien', (), {})
    module.Base = Base
    module.number = 7
    module.my_filters = lambda: [module.Alien, module.MyFilter]
    module.not_a_list = lambda: 7
    module.broken = lambda: 1 / 0
    monkeypatch.setitem(sys.modules, 'example_plugin', module)
    return module


@pytest.fixture
def nova_s_names():
    """Nova's names can be imported, and none is imported yet."""
    with wild.fresh_nova_names():
        yield


def load(path, built_in=FILTERS):
    return classes.load_classes(path, Base, lambda: built_in, OPTION)


def refusal(path):
    """Return the text of the ConfigurationError that loading a path raises."""
    with pytest.raises(exception.ConfigurationError) as caught:
        load(path)
    assert caught.value.option == OPTION
    assert f'{OPTION} = {path!r}' in str(caught.value)
    return str(caught.value)


def test_class_is_loaded_by_its_path(plugin):
    assert [plugin.MyFilter] == load('example_plugin.MyFilter')


def test_function_returns_classes_of_any_base(plugin):
    assert [plugin.Alien, plugin.MyFilter] == load(
        'example_plugin.my_filters')


@pytest.mark.parametrize(('path', 'words'), [
    *((f'example_plugin.{name}',
       f'Class example_plugin.{name} could not be found: Not a class of the '
       'correct type') for name in ('Alien', '_Private', 'number', 'Base')),
    ('nowhere_to_be_found.Filter', 'no module nowhere_to_be_found'),
    ('example_plugin.MyFliter', 'did you mean example_plugin.MyFilter?'),
    ('MyFilter', 'no dotted path'), ('', 'no dotted path'),
    ('example_plugin.broken', 'ZeroDivisionError'),
    ('example_plugin.not_a_list', 'returns 7'),
    ('nova.scheduler.filters.ram_filter.RamFliter',
     'did you mean nova.scheduler.filters.ram_filter.RamFilter?'),
    ('nova.scheduler.filters.all_filter',
     'did you mean nova.scheduler.filters.all_filters?'),
    ('nova.scheduler.filters.RamFilter',
     'did you mean nova.scheduler.filters.ram_filter.RamFilter?'),
    ('nova.scheduler.filters.json_filter.JsonFilter',
     'JsonFilter is not available in this')])
def test_wrong_path_is_refused_with_the_reason(plugin, path, words):
    assert words in refusal(path)


@pytest.mark.usefixtures('nova_s_names')
@pytest.mark.parametrize('path', [
    'nova.scheduler.filters.my_filter.MineOwn',
    'nova.scheduler.filters.my_filter.MyFilter',
    'nova.virt.driver.Filter', 'nova.nosuch.Filter'])
def test_path_of_nova_s_that_is_not_offered_is_refused(path):
    assert 'is not offered by nova_sched' in refusal(path)
    assert 'spelling' not in refusal(path)


@pytest.mark.usefixtures('nova_s_names')
@pytest.mark.parametrize(('statement', 'words'), [
    ('1 / 0', 'ZeroDivisionError'),
    *((statement, 'doc/source/plugins.rst says which names are')
      for statement in (
          'from nova.scheduler import nosuch', 'import nova.virt.driver',
          'from nova.objects import nosuch',
          'from nova.exception import NoSuch'))])
def test_failing_import_is_refused_with_the_reason(
        statement, words, tmp_path, monkeypatch):
    (tmp_path / 'failing_plugin.py').write_text(statement)
    monkeypatch.syspath_prepend(tmp_path)

    text = refusal('failing_plugin.MyFilter')

    assert 'importing failing_plugin failed' in text
    assert words in text


class TestNovaPaths:
    @pytest.mark.parametrize('root', ['nova', 'nova_sched'])
    def test_paths_of_either_project_lead_to_built_ins(self, root):
        weighers = [RAMWeigher, IoOpsWeigher]

        for path, built_in, loaded in (
                ('filters.all_filters', FILTERS, FILTERS),
                ('filters.ram_filter.RamFilter', FILTERS, [RamFilter]),
                ('weights.all_weighers', weighers, weighers),
                ('weights.io_ops.IoOpsWeigher', weighers, [IoOpsWeigher])):
            assert load(f'{root}.scheduler.{path}',
                        built_in=built_in) == loaded

    @pytest.mark.usefixtures('nova_s_names')
    def test_plug_in_in_nova_s_tree_is_loaded(self, tmp_path, monkeypatch):
        module = tmp_path / 'nova/scheduler/filters/my_filter.py'
        module.parent.mkdir(parents=True)
        module.write_text(f'from {__name__} import Base\n'
                          'class MyFilter(Base):\n    pass\n')
        monkeypatch.syspath_prepend(tmp_path)

        [cls] = load('nova.scheduler.filters.my_filter.MyFilter')

        assert cls.__module__ == 'nova.scheduler.filters.my_filter'

    def test_class_names_of_nova_are_unique(self):
        for table in (nova_classes.FILTER_MODULES,
                      nova_classes.WEIGHER_MODULES):
            names = [name for names in table.values() for name in names]
            assert len(names) == len(set(names))

    def test_removed_filters_are_filters_of_nova(self):
        assert nova_classes.REMOVED_FILTERS.keys() <= {
            name for names in nova_classes.FILTER_MODULES.values()
            for name in names}


def test_package_s_public_concrete_classes_are_found_in_order(
        tmp_path, monkeypatch):
    """Nova's weighers in its order, then others by name."""
    root = tmp_path / 'example_package'
    root.mkdir()
    (root / '__init__.py').touch()
    head = f'from {__name__} import Base, AbstractBase\n'
    (root / 'a.py').write_text(
        head + 'class IoOpsWeigher(Base): pass\n'
        'class BaseWeigher(Base): pass\nclass _Hidden(Base): pass\n'
        'class Half(AbstractBase): pass\n')
    (root / 'b.py').write_text(
        head + 'from example_package.a import IoOpsWeigher\n'
        'class RAMWeigher(Base): pass\nclass Zoo(Base): pass\n'
        'class Alias(Base): pass\nOther = Alias\n')
    monkeypatch.syspath_prepend(tmp_path)

    found = loadables.find_classes('example_package', Base, [
        name for names in nova_classes.WEIGHER_MODULES.values()
        for name in names])

    assert [cls.__name__ for cls in found] == [
        'RAMWeigher', 'IoOpsWeigher', 'Alias', 'Zoo']
    for name in ('', '.a', '.b'):
        del sys.modules[f'example_package{name}']
