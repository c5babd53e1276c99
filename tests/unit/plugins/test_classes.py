"""Paths in options lead to classes, or to one clear message."""

import abc
import sys
import types

import pytest

from nova_sched import exception
from nova_sched.compat import nova_names
from nova_sched.plugins import classes
from nova_sched.rules import loadables
from nova_sched.rules import nova_classes
from tests.builders.rules import a_conf

OPTION = '[filter_scheduler] available_filters'


class Base:
    """What plug-ins of these tests derive from."""


class RamFilter(Base):
    """Stands for a built-in."""


class DiskFilter(Base):
    """Stands for a built-in."""


class RAMWeigher(Base):
    """Stands for a built-in."""


class IoOpsWeigher(Base):
    """Stands for a built-in."""


FILTERS = [DiskFilter, RamFilter]


@pytest.fixture
def plugin():
    """A module of a third party, importable as ``example_plugin``."""
    module = types.ModuleType('example_plugin')
    module.MyFilter = type('MyFilter', (Base,), {})
    module.RamFilter = type('RamFilter', (Base,), {})
    module._Private = type('_Private', (Base,), {})
    module.Alien = type('Alien', (), {})
    module.Base = Base
    module.number = 7
    module.my_filters = lambda: [module.Alien, module.MyFilter]
    module.not_a_list = lambda: 7
    module.broken = lambda: 1 / 0
    sys.modules['example_plugin'] = module
    yield module
    del sys.modules['example_plugin']


@pytest.fixture
def nova_s_names():
    """Nova's names, provided; what is imported by them is forgotten."""
    def ours():
        return {name for name in sys.modules if name.startswith('nova.')
                or name == 'nova'}
    kept = {name: sys.modules.pop(name) for name in ours()}
    nova_names.provide(a_conf())
    yield
    for name in ours():
        del sys.modules[name]
    sys.modules.update(kept)


def load(*paths, built_in=FILTERS):
    return classes.load_classes(paths, Base, built_in, OPTION)


class TestLoadClasses:
    def test_class_by_path(self, plugin):
        """A public class derived from the base is taken."""
        assert [plugin.MyFilter] == load('example_plugin.MyFilter')

    def test_one_path_as_text(self, plugin):
        """A single string is as good as a list of one."""
        assert [plugin.MyFilter] == classes.load_classes(
            'example_plugin.MyFilter', Base, FILTERS, OPTION)

    def test_function_gives_classes_unchecked(self, plugin):
        """What a function returns is taken whatever it derives from."""
        assert [plugin.Alien, plugin.MyFilter] == load(
            'example_plugin.my_filters')

    @pytest.mark.parametrize('name', ['Alien', '_Private', 'number', 'Base'])
    def test_anything_else_is_refused(self, plugin, name):
        """With the words that Nova uses, and what would be right."""
        with pytest.raises(exception.ConfigurationError) as caught:
            load(f'example_plugin.{name}')

        assert caught.value.option == OPTION
        assert (f'Class example_plugin.{name} could not be found: Not a '
                'class of the correct type') in str(caught.value)

    @pytest.mark.parametrize(('path', 'words'), [
        ('nowhere_to_be_found.Filter', 'no module nowhere_to_be_found'),
        ('example_plugin.MyFliter', 'did you mean example_plugin.MyFilter?'),
        ('MyFilter', 'no dotted path'),
        ('', 'no dotted path'),
        ('example_plugin.broken', 'ZeroDivisionError'),
        ('example_plugin.not_a_list', 'returns 7'),
    ])
    def test_wrong_path_says_what_is_wrong(self, plugin, path, words):
        """Option, path and the nearest right one."""
        with pytest.raises(exception.ConfigurationError) as caught:
            load(path)

        assert f'{OPTION} = {path!r}' in str(caught.value)
        assert words in str(caught.value)

    def test_module_that_fails_to_import(self, tmp_path, monkeypatch):
        """Any failure of a plug-in's module names the option."""
        (tmp_path / 'failing_plugin.py').write_text('1 / 0\n')
        monkeypatch.syspath_prepend(tmp_path)

        with pytest.raises(exception.ConfigurationError,
                           match='importing failing_plugin failed'):
            load('failing_plugin.Filter')

    def test_later_class_of_a_name_counts(self, plugin):
        """A custom class takes the place of the built-in of its name."""
        named = classes.by_name(load(
            'nova.scheduler.filters.all_filters', 'example_plugin.RamFilter'))

        assert {'DiskFilter': DiskFilter,
                'RamFilter': plugin.RamFilter} == named


class TestNovasPaths:
    @pytest.mark.parametrize('root', ['nova', 'nova_sched'])
    def test_all_filters(self, root):
        """all_filters stands for every built-in."""
        assert load(f'{root}.scheduler.filters.all_filters') == FILTERS

    @pytest.mark.parametrize('root', ['nova', 'nova_sched'])
    def test_class_path(self, root):
        """Nova's class paths stand for ours."""
        assert [RamFilter] == load(
            f'{root}.scheduler.filters.ram_filter.RamFilter')

    def test_weighers(self):
        """The same for weighers."""
        built_in = [RAMWeigher, IoOpsWeigher]

        assert built_in == load('nova.scheduler.weights.all_weighers',
                                built_in=built_in)
        assert [IoOpsWeigher] == load(
            'nova.scheduler.weights.io_ops.IoOpsWeigher', built_in=built_in)

    def test_built_ins_may_come_from_a_function(self):
        """They are found only when a path of Nova's asks for them."""
        assert load('nova.scheduler.filters.all_filters',
                               built_in=lambda: FILTERS) == FILTERS

    @pytest.mark.parametrize(('path', 'nearest'), [
        ('nova.scheduler.filters.ram_filter.RamFliter',
         'nova.scheduler.filters.ram_filter.RamFilter'),
        ('nova.scheduler.filters.all_filter',
         'nova.scheduler.filters.all_filters'),
        ('nova.scheduler.filters.RamFilter',
         'nova.scheduler.filters.ram_filter.RamFilter')])
    def test_wrong_path_names_the_nearest(self, path, nearest):
        """The right path is spelt out."""
        with pytest.raises(exception.ConfigurationError) as caught:
            load(path)

        assert f'did you mean {nearest}?' in str(caught.value)

    @pytest.mark.usefixtures('nova_s_names')
    @pytest.mark.parametrize('path', [
        'nova.scheduler.filters.my_filter.MineOwn',
        'nova.scheduler.filters.my_filter.MyFilter',
        'nova.virt.driver.Filter', 'nova.nosuch.Filter'])
    def test_path_that_is_not_offered_says_so(self, path):
        with pytest.raises(exception.ConfigurationError) as caught:
            load(path)

        assert 'is not offered by nova_sched' in str(caught.value)
        assert 'spelling' not in str(caught.value)

    @pytest.mark.usefixtures('nova_s_names')
    @pytest.mark.parametrize('statement', [
        'from nova.scheduler import nosuch', 'import nova.virt.driver',
        'from nova.objects import nosuch',
        'from nova.exception import NoSuch'])
    def test_plug_in_that_imports_what_is_not_offered(
            self, statement, tmp_path, monkeypatch):
        (tmp_path / 'wishful.py').write_text(statement)
        monkeypatch.syspath_prepend(tmp_path)

        with pytest.raises(exception.ConfigurationError) as caught:
            load('wishful.MyFilter')

        assert 'importing wishful failed' in str(caught.value)
        assert ('doc/source/plugins.rst says which names are'
                in str(caught.value))

    @pytest.mark.usefixtures('nova_s_names')
    def test_path_in_nova_s_tree_leads_to_a_plug_in_there(self, tmp_path,
                                                          monkeypatch):
        module = tmp_path / 'nova/scheduler/filters/my_filter.py'
        module.parent.mkdir(parents=True)
        module.write_text(f'from {__name__} import Base\n'
                          'class MyFilter(Base):\n    pass\n')
        monkeypatch.syspath_prepend(tmp_path)

        found, = load('nova.scheduler.filters.my_filter.MyFilter')

        assert found.__module__ == 'nova.scheduler.filters.my_filter'

    def test_class_that_is_not_there_yet(self):
        """A class of Nova's that this release lacks is named as such."""
        with pytest.raises(exception.ConfigurationError,
                           match='JsonFilter is not available in this'):
            load('nova.scheduler.filters.json_filter.JsonFilter')

    def test_every_class_of_the_tables_has_one_module(self):
        """Names are unique, so that one name leads to one class."""
        for table in (nova_classes.FILTER_MODULES,
                      nova_classes.WEIGHER_MODULES):
            names = [name for names in table.values() for name in names]
            assert len(names) == len(set(names))

    def test_removed_filters_are_filters(self):
        """The table of removals names only filters there are."""
        known = {name for names in nova_classes.FILTER_MODULES.values()
                 for name in names}

        assert nova_classes.REMOVED_FILTERS.keys() <= known


class TestFindClasses:
    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        """A package of plug-ins: two weighers, a filter, things besides."""
        root = tmp_path / 'example_package'
        root.mkdir()
        (root / '__init__.py').write_text('')
        head = (f'from {__name__} import Base, AbstractBase\n')
        (root / 'a.py').write_text(
            head + 'class IoOpsWeigher(Base): pass\n'
            'class BaseWeigher(Base): pass\nclass _Hidden(Base): pass\n'
            'class Half(AbstractBase): pass\n')
        (root / 'b.py').write_text(
            head + 'from example_package.a import IoOpsWeigher\n'
            'class RAMWeigher(Base): pass\nclass Zoo(Base): pass\n'
            'class Alias(Base): pass\nOther = Alias\n')
        monkeypatch.syspath_prepend(tmp_path)
        yield 'example_package'
        for name in ('', '.a', '.b'):
            sys.modules.pop('example_package' + name, None)

    def test_public_concrete_subclasses_in_fixed_order(self, package):
        """Built-in weighers come in Nova's order, others by name after."""
        found = loadables.find_classes(
            package, Base, [
                name for names in nova_classes.WEIGHER_MODULES.values()
                for name in names])

        assert [cls.__name__ for cls in found] == [
            'RAMWeigher', 'IoOpsWeigher', 'Alias', 'Zoo']


class AbstractBase(Base, abc.ABC):
    """A base with something left to write."""

    @abc.abstractmethod
    def judge(self):
        """Left to subclasses."""
