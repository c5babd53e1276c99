"""Directories named nova on the Python path: parts of a Nova, or a Nova."""

import importlib
import sys

import pytest

from nova_sched.plugins import classes
from tests.builders.rules import a_conf

pytestmark = pytest.mark.usefixtures('fresh_nova_names')


def write(root, files):
    """Write files: path -> text."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class TestPart:
    """A directory nova without a scheduler of its own."""

    @pytest.fixture
    def root(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    @pytest.fixture(params=[True, False], ids=['__init__', 'none'])
    def tutorial(self, request, root):
        """Kilo's, with and without __init__.py in both directories."""
        part = root / 'nova' / 'myproject'
        write(part, {'specified.py': 'from nova.scheduler import filters'})
        if request.param:
            write(part, {'__init__.py': '', '../__init__.py': ''})

    @pytest.mark.usefixtures('tutorial')
    def test_its_modules_are_beside_the_offered_modules(self):
        from nova.myproject import specified
        from nova.scheduler import filters

        assert specified.filters is filters
        assert filters is importlib.import_module(
            'nova_sched.scheduler.filters')
        for name in ('nova.virt', 'nova.scheduler.no_such'):
            with pytest.raises(ModuleNotFoundError,
                               match='is not offered by'):
                importlib.import_module(name)

    def test_several_parts_are_searched(self, root, monkeypatch):
        write(root / 'nova', {'myproject/one.py': '', '__init__.py': ''})
        write(root / 'other' / 'nova', {'theirs/two.py': '',
                                        'myproject/three.py': ''})
        monkeypatch.syspath_prepend(root / 'other')

        for name in ('myproject.one', 'theirs.two', 'myproject.three'):
            importlib.import_module(f'nova.{name}')

    @pytest.mark.parametrize('name', [
        'nova.scheduler.filters.of_mine', 'nova.scheduler.of_mine',
        'nova.of_mine', 'nova.compute.of_mine', 'nova.objects.of_mine',
        'nova.virt.of_mine', 'nova.scheduler.filters.sub.of_mine'])
    def test_modules_may_be_in_offered_packages(self, root, name):
        """Each statement imports the same module."""
        write(root, {f'{name.replace(".", "/")}.py': 'is_theirs = True'})
        imported = {}
        exec(f'from {name.rpartition(".")[0]} import of_mine', imported)
        module = importlib.import_module(name)

        assert module.is_theirs
        assert module is imported['of_mine'] is sys.modules[name]
        assert module.__name__ == name
        for key in [*sys.modules]:
            if key.endswith('.of_mine'):
                del sys.modules[key]

    def test_offered_modules_are_not_hidden(self, root):
        write(root / 'nova', {
            'scheduler/filters/ram_filter.py': '1 / 0', 'i18n.py': '1 / 0',
            'scheduler/filters/my_filter.py': '',
            'scheduler/filters/__init__.py': '1 / 0'})
        from nova.scheduler.filters import ram_filter

        importlib.import_module('nova.scheduler.filters.my_filter')
        assert ram_filter.__name__ == (
            'nova_sched.scheduler.filters.ram_filter')
        assert importlib.import_module('nova.i18n').__name__ == (
            'nova_sched.compat.nova.i18n')
        assert importlib.import_module(
            'nova.scheduler.filters.ram_filter').RamFilter

    def test_plugin_path_may_have_a_part(self, tmp_path, monkeypatch):
        """After a reload, too, when Nova's names are in use."""
        monkeypatch.setattr(sys, 'path', list(sys.path))
        importlib.import_module('nova.scheduler')
        write(tmp_path, {'nova/myproject/mine.py': '', 'flat_of_mine.py': ''})

        classes.provide_names(
            a_conf(nova_sched__plugin_path=[str(tmp_path)]))

        importlib.import_module('nova.myproject.mine')
        importlib.import_module('flat_of_mine')


class TestInstalledNova:
    @pytest.fixture(params=[
        {'__init__.py': 'is_nova = True', 'scheduler/__init__.py': '',
         'scheduler/host_manager.py': ''},
        {'__init__.py': 'raise ImportError("broken")',
         'scheduler/manager.py': ''},
        {'scheduler/manager.py': ''},
    ], ids=['whole', 'broken', 'without __init__'])
    def installed(self, request, tmp_path, monkeypatch):
        write(tmp_path / 'nova', request.param)
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path / 'nova'

    def test_name_leads_to_it(self, installed):
        """Also when it appears after the names were provided."""
        try:
            import nova
        except ImportError as error:
            assert str(error) == 'broken'
        else:
            assert list(nova.__path__) == [str(installed)]

    @pytest.mark.parametrize('name', [
        'nova.scheduler.filters', 'nova.conf', 'nova.i18n'])
    def test_missing_modules_are_not_added(self, installed, name):
        with pytest.raises(ImportError):
            importlib.import_module(name)
