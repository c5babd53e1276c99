"""Nova's module names lead here where Nova itself is not installed."""

import importlib
import pkgutil
import re
import sys

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.plugins import nova_names
from nova_sched.plugins.nova import conf as nova_conf
from nova_sched.rules import nova_classes
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.rules import a_conf
from tests.unit import doc_pages

PAGE = doc_pages.PAGES['plugins.rst']


@pytest.fixture(autouse=True)
def names():
    """The names, provided; nothing is imported by them yet."""
    def take():
        return {name: sys.modules.pop(name) for name in list(sys.modules)
                if name.partition('.')[0] == 'nova'}
    kept = take()
    nova_names.provide(a_conf())
    yield
    take()
    sys.modules.update(kept)


@pytest.mark.parametrize('name, ours', nova_names.MODULES.items())
def test_lead_to_the_very_modules_here(name, ours):
    """Not to copies, whose classes would be others."""
    assert importlib.import_module(name) is importlib.import_module(ours)
    assert sys.modules[ours].__spec__.name == ours


def modules_below(name):
    """The modules in the package that a name of Nova's leads to."""
    path = getattr(importlib.import_module(nova_names.MODULES[name]),
                   '__path__', ())
    return [module.name for module in pkgutil.iter_modules(path)]


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
])
def test_can_be_imported_in_every_way(statement):
    exec(statement, {})


@pytest.mark.parametrize('name', [
    'nova.virt', 'nova.volume', 'nova.compute.api',
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

    @pytest.mark.parametrize(('module', 'name'), [
        (module, name) for module, names in documented().items()
        for name in names])
    def test_lists_names_that_are_there(self, module, name):
        if (module, name) not in BELOW:
            assert hasattr(importlib.import_module(module), name)

    def test_lists_all_exceptions(self):
        from nova import exception
        text = re.search(r'^The exceptions are .*?\.$', PAGE, re.M | re.S)[0]

        assert set(re.findall(r'``(\w+)``', text)) == {
            name for name, member in vars(exception).items()
            if isinstance(member, type)}


def test_of_what_a_package_lacks_cannot_be_imported_from_it():
    with pytest.raises(ImportError, match='cannot import name'):
        exec('from nova.objects import no_such', {})


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

    def test_does_not_hide_what_is_ours(self, part):
        write(part, scheduler__filters__ram_filter='1 / 0',
              scheduler__filters__my_filter='', i18n='1 / 0',
              scheduler__filters____init__='1 / 0')

        importlib.import_module('nova.scheduler.filters.my_filter')
        assert importlib.import_module('nova.i18n').__name__ == (
            'nova_sched.plugins.nova.i18n')
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

        nova_names.provide(a_conf(nova_sched__plugin_path=[str(tmp_path)]))

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


class TestConf:
    """The global configuration."""

    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / 'nova.conf'

    @pytest.fixture(autouse=True)
    def global_conf(self):
        cfg.CONF.register_opts([cfg.StrOpt('where')], 'of_plug_in')
        yield
        nova_conf.follow(a_conf())

    def read(self, path, text):
        path.write_text(text)
        nova_names.provide(config.new_conf([], [str(path)]))

    def test_is_oslo_configs_own(self):
        from nova.conf import CONF

        assert CONF is cfg.CONF

    def test_holds_our_options_and_those_of_plug_ins(self, path):
        self.read(path, '[of_plug_in]\nwhere = here\n'
                        '[filter_scheduler]\nmax_instances_per_host = 7\n')

        assert cfg.CONF.of_plug_in.where == 'here'
        assert cfg.CONF.filter_scheduler.max_instances_per_host == 7

    def test_follows_the_files(self, path):
        """As at SIGHUP: whoever loads plug-ins anew provides it anew."""
        self.read(path, '[of_plug_in]\nwhere = here\n')
        self.read(path, '[of_plug_in]\nwhere = there\n')

        assert cfg.CONF.of_plug_in.where == 'there'

    def test_keeps_its_values_when_the_files_are_gone(self, path, caplog):
        self.read(path, '[of_plug_in]\nwhere = here\n')
        conf = config.new_conf([], [str(path)])
        path.unlink()

        nova_names.provide(conf)

        assert cfg.CONF.of_plug_in.where == 'here'

    def test_of_another_program_is_left_alone(self, path, monkeypatch):
        """One that runs a scheduler inside, and has options of its own."""
        monkeypatch.setattr(cfg.CONF, 'prog', 'all-in-one')

        self.read(path, '[of_plug_in]\nwhere = here\n')

        assert cfg.CONF.of_plug_in.where is None


class TestFilterUtils:
    @pytest.fixture
    def utils(self):
        return importlib.import_module('nova.scheduler.filters.utils')

    @pytest.fixture
    def state(self):
        state, = hosts(a_host('h', aggregates=[
            {'zone': 'a, b', 'rack': '1'}, {'zone': 'c'}, {'rack': '2'}]),
            running={'u1': 'h'}).states()
        return state

    def test_values_of_a_key_are_as_written(self, utils, state):
        assert utils.aggregate_values_from_key(state, 'zone') == {
            'a, b', 'c'}

    def test_metadata_are_split_and_put_together(self, utils, state):
        assert utils.aggregate_metadata_get_by_host(state) == {
            'zone': {'a', 'b', 'c'}, 'rack': {'1', '2'}}

    def test_metadata_may_be_of_the_aggregates_with_a_key(self, utils,
                                                          state):
        assert utils.aggregate_metadata_get_by_host(state, 'zone') == {
            'zone': {'a', 'b', 'c'}, 'rack': {'1'}}

    @pytest.mark.parametrize('args, number', [
        (({'9', '10'},), 9), ((set(), 5), 5), (({'1.5'}, None, float), 1.5),
        (({'9', '10'}, None, int, max), 10)])
    def test_a_number_is_the_smallest(self, utils, args, number):
        assert utils.validate_num_values(*args) == number

    def test_a_number_that_is_none_is_an_error(self, utils):
        with pytest.raises(ValueError):
            utils.validate_num_values({'1', 'x'}, 5)

    @pytest.mark.parametrize('uuids, found', [
        ('u1', True), (['u2', 'u1'], True), (['u2'], False), ([], False)])
    def test_instances_on_a_host(self, utils, state, uuids, found):
        assert utils.instance_uuids_overlap(state, uuids) is found


class TestException:
    def test_text_is_made_of_its_keywords(self):
        from nova import exception

        class NoLicence(exception.NovaException):
            msg_fmt = 'no licence for %(product)s'

        assert str(NoLicence(product='x')) == 'no licence for x'
        assert str(NoLicence('as it is: %')) == 'as it is: %'
        assert NoLicence(product='x').format_message() == 'no licence for x'

    @pytest.mark.parametrize(('name', 'words', 'text', 'base', 'code'), [
        ('Forbidden', {}, 'Forbidden', 'NovaException', 403),
        ('HostNotFound', {'host': 'h'}, 'Host h could not be found.',
         'NotFound', 404),
        ('ComputeHostNotFound', {'host': 'h'},
         'Compute host h could not be found.', 'HostNotFound', 404),
        ('SchedulerHostFilterNotFound', {'filter_name': 'F'},
         'Scheduler Host Filter F could not be found.', 'NotFound', 404),
        ('AggregateNotFound', {'aggregate_id': 1},
         'Aggregate 1 could not be found.', 'NotFound', 404),
        ('FlavorNotFound', {'flavor_id': 1}, 'Flavor 1 could not be found.',
         'NotFound', 404),
        ('ImageNotFound', {'image_id': 1}, 'Image 1 could not be found.',
         'NotFound', 404),
        ('InstanceNotFound', {'instance_id': 1},
         'Instance 1 could not be found.', 'NotFound', 404),
        ('InstanceGroupNotFound', {'group_uuid': 'u'},
         'Instance group u could not be found.', 'NotFound', 404),
        ('ServiceUnavailable', {}, 'Service is unavailable at this time.',
         'Invalid', 400),
        ('ComputeServiceUnavailable', {'host': 'h'},
         'Compute service of h is unavailable at this time.',
         'ServiceUnavailable', 400)])
    def test_says_and_is_what_nova_s_is(self, name, words, text, base, code):
        from nova import exception
        cls = getattr(exception, name)

        assert str(cls(**words)) == text
        assert issubclass(cls, getattr(exception, base))
        assert (cls.code, cls.__module__) == (code, 'nova.exception')

    def test_without_its_keywords_says_what_it_can(self):
        from nova import exception

        assert str(exception.HostNotFound()) == (
            'Host %(host)s could not be found.')
