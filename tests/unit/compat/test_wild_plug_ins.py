"""Plug-ins that use Nova's names decide without Nova.

They are in tests/data/wild_plug_ins.py.
"""

import importlib
import pathlib
import sys
import threading

import pytest

from nova_sched import context
from nova_sched import testing
from nova_sched.compat import dotted_oslo
from tests.builders import clouds
from tests.builders import requests
from tests.builders.wild import CALL
from tests.builders.wild import asked as passing
from tests.builders.wild import beside
from tests.unit import doc_pages


class TestOnACloud:
    @pytest.fixture
    def racks(self, cloud):
        """Hosts a and b share a rack and a zone, c has others, d none."""
        cloud.load(['a', 'b', 'c', 'd'], aggregates=[
            clouds.an_aggregate(1, ['a', 'b'], name='one', metadata={
                'rack': '1', 'availability_zone': 'east'}),
            clouds.an_aggregate(2, ['c'], name='two', metadata={
                'rack': '2', 'availability_zone': 'west'}),
            clouds.an_aggregate(3, ['b'], name='best',
                                metadata={'rack_weight': '-5.0'})])
        return cloud

    @pytest.mark.parametrize(('name', 'spec', 'hosts'), [
        ('AdminFilter', None, 'abcd'),
        ('SmallFlavorFilter', requests.a_request(memory_mb=512), 'abcd'),
        *((name, beside(host), hosts) for name, cases in {
            'SameAggregateFilter': {
                'a': 'ab', 'b': 'ab', 'c': 'c', 'd': '', 'unknown': ''},
            # Hosts without a zone are in the default zone.
            'SameZoneFilter': {'a': 'ab', 'c': 'c', 'd': 'd', 'unknown': 'd'},
            'SameRackFilter': {'a': 'ab', 'c': 'c', 'd': 'd'},
            'SameCellFilter': {'a': 'abcd', 'unknown': ''},
        }.items() for host, hosts in cases.items())])
    def test_filter_passes_hosts(self, racks, name, spec, hosts):
        assert sorted(passing(racks, name, spec)) == [*hosts]

    def test_aggregate_sets_a_multiplier(self, racks):
        assert passing(racks, 'RackWeigher', weigher=True)[-1] == 'b'

    def test_service_is_up_as_nova_reports(self, racks):
        racks.execute(
            "UPDATE services SET forced_down = 1 WHERE host = 'a'")
        racks.execute("UPDATE services SET last_seen_up = "
                      "'2020-01-01 00:00:00' WHERE host = 'b'")

        assert sorted(passing(racks, 'LiveFilter')) == ['c', 'd']


def test_file_of_options_is_read_with_the_imports_of_juno(provide, tmp_path):
    path = tmp_path / 'options.json'
    path.write_text('{"hosts": ["b", "d"]}')
    provide(f'scheduler_json_config_location = {path}\n')

    rule = importlib.import_module('wild_plug_ins').JunoFilter()

    assert testing.survivors(rule, testing.hosts(*map(
        testing.a_host, 'abcd')), testing.a_request()) == ['b', 'd']


class TestDottedOslo:
    """Libraries under their names of before Liberty."""

    @pytest.mark.parametrize('statement', [
        'from oslo.config import cfg', 'import oslo.config.cfg',
        'from oslo import messaging', 'import oslo.db.api',
        'from oslo.utils import timeutils, units',
        'from oslo.serialization import jsonutils',
        'from oslo.i18n import TranslatorFactory',
        'from oslo.concurrency import lockutils, processutils'])
    def test_statement_imports(self, statement):
        exec(statement, {})

    @pytest.mark.parametrize('library', dotted_oslo.LIBRARIES)
    def test_name_is_documented_and_offered(self, library):
        assert f'``oslo.{library}``' in doc_pages.PAGES['plugins.rst']
        assert importlib.import_module(f'oslo.{library}') is (
            importlib.import_module(f'oslo_{library}'))

    def test_modules_are_the_same_objects(self):
        import oslo_config.cfg
        module = importlib.import_module('oslo.config.cfg')

        assert module is oslo_config.cfg
        assert module.__spec__.name == 'oslo_config.cfg'

    @pytest.mark.parametrize('name', ['oslo.vmware', 'oslo.config.no_such'])
    def test_other_names_are_not_found(self, name):
        with pytest.raises(ModuleNotFoundError, match=name):
            importlib.import_module(name)

    def test_installed_package_of_that_name_takes_precedence(
            self, tmp_path, monkeypatch):
        (tmp_path / 'oslo').mkdir()
        (tmp_path / 'oslo' / '__init__.py').write_text('')
        for name in [*sys.modules]:
            if name.partition('.')[0] == 'oslo':
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.syspath_prepend(tmp_path)

        with pytest.raises(ModuleNotFoundError):
            importlib.import_module('oslo.config')
        monkeypatch.delitem(sys.modules, 'oslo')


class TestUtils:
    @pytest.fixture
    def utils(self):
        return importlib.import_module('nova.utils')

    def test_expects_func_args_checks_the_decorated_function(self, utils):
        @utils.expects_func_args('spec_obj')
        def decorator(function):
            return function

        assert decorator(lambda self, spec_obj: 1)(None, None) == 1
        assert decorator(lambda *args: 2)() == 2
        with pytest.raises(TypeError, match='must take spec_obj'):
            decorator(lambda self, instance: 1)

    def test_is_none_string_accepts_text_alone(self, utils):
        assert [utils.is_none_string(value) for value in (
            'None', 'none', None, '')] == [True, True, False, False]

    @pytest.mark.parametrize('metadata', [
        {'a': '1'}, [{'key': 'a', 'value': '1', 'deleted': 0},
                     {'key': 'b', 'value': '2', 'deleted': 7}]])
    def test_metadata_may_have_any_form(self, utils, metadata):
        assert utils.instance_meta({'metadata': metadata}) == {'a': '1'}
        assert utils.instance_sys_meta({}) == {}
        assert utils.instance_sys_meta(
            {'system_metadata': metadata}) == {'a': '1'}

    def test_temporary_changes_are_undone(self, utils):
        """In objects, in dicts and in the file system."""
        call, options = context.RequestContext(
            read_deleted='no', overwrite=False), {'a': 1}
        with utils.temporary_mutation(call, read_deleted='yes'), \
                utils.temporary_mutation(options, a=2, b=3), \
                utils.tempdir(prefix='x') as path:
            assert (call.read_deleted, options) == ('yes', {'a': 2, 'b': 3})
            assert pathlib.Path(path).is_dir()

        assert (call.read_deleted, options) == ('no', {'a': 1})
        assert not pathlib.Path(path).exists()

    def test_execute_runs_a_command(self, utils):
        assert utils.execute('echo', 'yes') == ('yes\n', '')

    def test_spawned_thread_knows_the_current_hosts(self, utils, caplog):
        from nova import objects
        states = testing.hosts(testing.a_host('a')).states()
        spawned = utils.spawn(objects.AggregateList.get_all, CALL)

        assert states
        assert list(spawned.wait()) == []
        with pytest.raises(ZeroDivisionError):
            utils.spawn(divmod, 1, 0).wait()
        assert caplog.messages[-1] == (
            'A function that a plug-in has spawned failed')

    def test_spawn_n_returns_nothing(self, utils):
        done = threading.Event()

        assert utils.spawn_n(done.set) is None
        assert done.wait(5)


class TestZones:
    """nova.availability_zones, with hosts in y, z and the default zone."""

    @pytest.fixture
    def zones(self):
        return importlib.import_module('nova.availability_zones')

    @pytest.fixture(autouse=True)
    def hosts(self):
        def zone(name, *hosts):
            return [testing.an_aggregate({'availability_zone': name},
                                         hosts=[*hosts])]
        return testing.hosts(
            testing.a_host('a', aggregates=zone('z', 'a', 'b')),
            testing.a_host('b', aggregates=zone('z', 'a', 'b'),
                           service_disabled=True),
            testing.a_host('c', aggregates=zone('y', 'c'),
                           service_disabled=True),
            testing.a_host('d')).states()

    @pytest.mark.parametrize(('args', 'kwargs', 'found'), [
        ((), {}, (['nova', 'z'], ['y'])),
        (('a host API',), {}, (['nova', 'z'], ['y'])),
        ((), {'get_only_available': True}, ['nova', 'z']),
        (('a host API',), {'get_only_available': True}, ['nova', 'z']),
        ((True,), {}, ['nova', 'z']),
        ((), {'with_hosts': True}, (
            [('nova', {'d'}), ('z', {'a'})], [('y', {'c'})])),
        (('a host API', True, True), {}, [('nova', {'d'}), ('z', {'a'})])])
    def test_zones_of_enabled_hosts_are_available(self, zones, args, kwargs,
                                                  found):
        assert zones.get_availability_zones(CALL, *args, **kwargs) == found

    def test_zones_are_set_on_services(self, zones):
        from nova import objects
        services = [*objects.ServiceList.get_by_host(CALL, 'a'),
                    {'host': 'x', 'topic': 'conductor'}]

        assert [(service['host'], service['availability_zone']) for service
                in zones.set_availability_zones(CALL, services)] == [
            ('a', 'z'), ('x', 'internal')]

    def test_cache_functions_have_no_effect(self, zones):
        assert zones.reset_cache() is None
        assert zones.update_host_availability_zone_cache(CALL, 'a') is None
