"""Nova's module names lead here where Nova itself is not installed."""

import importlib
import sys

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.nova import conf as nova_conf
from nova_sched.scheduler import nova_names
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.rules import a_conf


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
])
def test_can_be_imported_in_every_way(statement):
    exec(statement, {})


@pytest.mark.parametrize('name', ['nova.virt', 'nova.scheduler.utils'])
def test_of_other_modules_are_not_there(name):
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


class TestInstalledNova:
    @pytest.fixture(params=[
        {'__init__.py': 'is_nova = True'},
        {'__init__.py': 'is_nova = True', 'scheduler/__init__.py': ''},
        {'__init__.py': 'raise ImportError("broken")'},
        {'scheduler/__init__.py': ''},
    ], ids=['alone', 'with a part', 'broken', 'without __init__'])
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
