"""Directories named nova on the Python path: parts of a Nova, or one."""

import importlib
import sys

import pytest

from nova_sched.plugins import classes
from tests.builders.rules import a_conf

pytestmark = pytest.mark.usefixtures('nova_names_anew')


def write(root, **files):
    """Files of these texts; in names __ stands for the slash."""
    for name, text in files.items():
        path = root.joinpath(*name.split('__')).with_suffix('.py')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class TestPartBeside:
    """A directory nova that holds no scheduler of its own."""

    @pytest.fixture
    def part(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path / 'nova'

    @pytest.fixture(params=[True, False], ids=['__init__', 'none'])
    def tutorial(self, request, part):
        """Kilo's, with and without __init__.py in both directories."""
        write(part, myproject__specified='from nova.scheduler import filters')
        if request.param:
            for directory in (part, part / 'myproject'):
                (directory / '__init__.py').touch()

    @pytest.mark.usefixtures('tutorial')
    def test_has_its_modules_and_ours_stay(self):
        from nova.myproject import specified
        from nova.scheduler import filters

        assert specified.filters is filters
        assert filters is importlib.import_module(
            'nova_sched.scheduler.filters')

    def test_may_be_one_of_several(self, part, tmp_path, monkeypatch):
        other = tmp_path / 'other'
        write(part, myproject__one='', __init__='')
        write(other / 'nova', theirs__two='', myproject__three='')
        monkeypatch.syspath_prepend(other)

        for name in ('myproject.one', 'theirs.two', 'myproject.three'):
            importlib.import_module(f'nova.{name}')

    @pytest.mark.parametrize('name', [
        'nova.scheduler.filters.my_filter', 'nova.scheduler.my_driver',
        'nova.compute.mine', 'nova.objects.mine', 'nova.virt.mine',
        'nova.scheduler.filters.sub.mine'])
    def test_may_have_modules_in_packages_of_ours(self, part, name):
        write(part.parent, **{name.replace('.', '__'): 'is_theirs = True'})

        assert importlib.import_module(name).is_theirs
        assert sys.modules[name].__name__ == name

    @pytest.mark.parametrize('package', [
        'nova.scheduler.filters', 'nova.objects', 'nova.scheduler', 'nova'])
    def test_may_have_modules_that_are_imported_from_a_package(
            self, part, package):
        """One module, by whichever statement."""
        write(part.parent, **{f'{package}.of_mine'.replace('.', '__'): ''})
        names = {}
        exec(f'from {package} import of_mine', names)

        assert names['of_mine'] is importlib.import_module(
            f'{package}.of_mine')
        assert names['of_mine'].__name__ == f'{package}.of_mine'
        for name in list(sys.modules):
            if name.endswith('.of_mine'):
                del sys.modules[name]

    def test_does_not_hide_what_is_imported_from_a_package(self, part):
        write(part, scheduler__filters__ram_filter='1 / 0')
        from nova.scheduler.filters import ram_filter

        assert ram_filter.__name__ == (
            'nova_sched.scheduler.filters.ram_filter')

    def test_does_not_hide_what_is_ours(self, part):
        write(part, scheduler__filters__ram_filter='1 / 0',
              scheduler__filters__my_filter='', i18n='1 / 0',
              scheduler__filters____init__='1 / 0')

        importlib.import_module('nova.scheduler.filters.my_filter')
        assert importlib.import_module('nova.i18n').__name__ == (
            'nova_sched.compat.nova.i18n')
        assert importlib.import_module(
            'nova.scheduler.filters.ram_filter').RamFilter

    @pytest.mark.usefixtures('tutorial')
    @pytest.mark.parametrize('name', ['nova.virt', 'nova.scheduler.no_such'])
    def test_does_not_change_what_else_is_missing(self, name):
        with pytest.raises(ModuleNotFoundError, match='is not offered by'):
            importlib.import_module(name)

    def test_may_lie_under_the_plug_in_path(self, tmp_path, monkeypatch):
        """Which a reload may bring, when Nova's names are in use."""
        monkeypatch.setattr(sys, 'path', list(sys.path))
        importlib.import_module('nova.scheduler')
        write(tmp_path, nova__myproject__mine='', flat_of_mine='')

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
        for name, text in request.param.items():
            path = tmp_path / 'nova' / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path / 'nova'

    def test_is_what_the_name_leads_to(self, installed):
        """Though the names were provided before it was there."""
        try:
            import nova
        except ImportError as error:
            assert str(error) == 'broken'
        else:
            assert list(nova.__path__) == [str(installed)]

    @pytest.mark.parametrize('name', [
        'nova.scheduler.filters', 'nova.conf', 'nova.i18n'])
    def test_gets_no_modules_from_here(self, installed, name):
        """Also none that it lacks."""
        with pytest.raises(ImportError):
            importlib.import_module(name)
