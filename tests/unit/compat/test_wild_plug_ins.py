"""Plug-ins that use Nova's names as many do decide where there is no Nova.

They are in tests/data/wild_plug_ins.py.
"""

import gc
import importlib
import pathlib
import sys
import threading

import pytest

from nova_sched import conf as config
from nova_sched import context
from nova_sched import testing
from nova_sched.compat import current_hosts
from nova_sched.compat import dotted_oslo
from nova_sched.compat import nova_names
from nova_sched.compat import row_rules
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import door
from tests.builders.hosts import a_host
from tests.builders.wild import CALL
from tests.builders.wild import asked
from tests.builders.wild import beside
from tests.unit import doc_pages

pytestmark = pytest.mark.usefixtures('wild_plug_ins')


@pytest.fixture
def racks(cloud):
    """The hosts a and b share a rack and a zone, c has others, d none."""
    cloud.load(['a', 'b', 'c', 'd'], aggregates=[
        clouds.an_aggregate(1, ['a', 'b'], name='one', metadata={
            'rack': '1', 'availability_zone': 'east'}),
        clouds.an_aggregate(2, ['c'], name='two', metadata={
            'rack': '2', 'availability_zone': 'west'}),
        clouds.an_aggregate(3, ['b'], name='best',
                            metadata={'rack_weight': '-5.0'})])
    return cloud


def test_the_context_of_the_call_can_be_elevated(racks):
    assert len(asked(racks, 'AdminFilter')) == 4


@pytest.mark.parametrize(('host', 'found'), [
    ('a', {'a', 'b'}), ('b', {'a', 'b'}), ('c', {'c'}), ('d', set()),
    ('unknown', set())])
def test_another_host_s_aggregates_are_known(racks, host, found):
    assert set(asked(racks, 'SameAggregateFilter', beside(host))) == found


@pytest.mark.parametrize(('host', 'found'), [
    ('a', {'a', 'b'}), ('c', {'c'}), ('d', {'d'}), ('unknown', {'d'})])
def test_another_host_s_zone_is_known(racks, host, found):
    """A host in none is in the default zone."""
    assert set(asked(racks, 'SameZoneFilter', beside(host))) == found


@pytest.mark.parametrize(('host', 'found'), [
    ('a', {'a', 'b'}), ('c', {'c'}), ('d', {'d'})])
def test_another_host_s_metadata_are_known_by_nova_db(racks, host, found):
    assert set(asked(racks, 'SameRackFilter', beside(host))) == found


@pytest.mark.parametrize(('host', 'found'), [('a', 4), ('unknown', 0)])
def test_another_host_s_cell_is_known(racks, host, found):
    assert len(asked(racks, 'SameCellFilter', beside(host))) == found


def test_a_flavor_is_a_dict_as_well(racks):
    assert len(asked(racks, 'SmallFlavorFilter',
                     requests.a_request(memory_mb=512))) == 4


def test_a_multiplier_is_what_aggregates_say(racks):
    assert asked(racks, 'RackWeigher', weigher=True)[-1] == 'b'


def test_a_service_is_up_as_nova_says(racks):
    racks.execute("UPDATE services SET forced_down = 1 WHERE host = 'a'")
    racks.execute("UPDATE services SET last_seen_up = '2020-01-01 00:00:00' "
                  "WHERE host = 'b'")

    assert set(asked(racks, 'LiveFilter')) == {'c', 'd'}


def test_a_file_of_options_is_read_with_the_imports_of_juno(tmp_path):
    path = tmp_path / 'options.json'
    path.write_text('{"hosts": ["b", "d"]}')
    conf = tmp_path / 'nova.conf'
    conf.write_text(f'[DEFAULT]\nscheduler_json_config_location = {path}\n')
    nova_names.provide(config.new_conf([], [str(conf)]))

    rule = importlib.import_module('wild_plug_ins').JunoFilter()

    assert testing.survivors(rule, testing.hosts(*map(
        testing.a_host, 'abcd')), testing.a_request()) == ['b', 'd']


@pytest.mark.parametrize('statement', [
    'from oslo.config import cfg', 'import oslo.config.cfg',
    'from oslo import messaging', 'from oslo.utils import timeutils, units',
    'from oslo.serialization import jsonutils', 'import oslo.db.api',
    'from oslo.i18n import TranslatorFactory',
    'from oslo.concurrency import lockutils, processutils'])
def test_libraries_have_their_dotted_names(statement):
    exec(statement, {})


@pytest.mark.parametrize('library', dotted_oslo.LIBRARIES)
def test_dotted_names_are_documented_and_there(library):
    assert f'``oslo.{library}``' in doc_pages.PAGES['plugins.rst']
    assert importlib.import_module(f'oslo.{library}') is (
        importlib.import_module(f'oslo_{library}'))


def test_dotted_names_lead_to_the_very_libraries():
    import oslo_config.cfg
    found = importlib.import_module('oslo.config.cfg')

    assert found is oslo_config.cfg
    assert found.__spec__.name == 'oslo_config.cfg'


@pytest.mark.parametrize('name', ['oslo.vmware', 'oslo.config.no_such'])
def test_of_other_libraries_there_are_none(name):
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


def test_an_installed_package_of_the_dotted_name_wins(
        tmp_path, monkeypatch):
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
    """nova.utils."""

    @pytest.fixture
    def utils(self):
        return importlib.import_module('nova.utils')

    def test_checks_the_arguments_of_what_is_decorated(self, utils):
        @utils.expects_func_args('spec_obj')
        def decorator(function):
            return function

        assert decorator(lambda self, spec_obj: 1)(None, None) == 1
        assert decorator(lambda *args: 2)() == 2
        with pytest.raises(TypeError, match='must take spec_obj'):
            decorator(lambda self, instance: 1)

    @pytest.mark.parametrize(('value', 'is_none'), [
        ('None', True), ('none', True), (None, False), ('', False)])
    def test_knows_the_text_none(self, utils, value, is_none):
        assert utils.is_none_string(value) is is_none

    @pytest.mark.parametrize('metadata', [
        {'a': '1'}, [{'key': 'a', 'value': '1', 'deleted': 0},
                     {'key': 'b', 'value': '2', 'deleted': 7}]])
    def test_reads_metadata_of_any_form(self, utils, metadata):
        assert utils.instance_meta({'metadata': metadata}) == {'a': '1'}
        assert utils.instance_sys_meta({}) == {}
        assert utils.instance_sys_meta(
            {'system_metadata': metadata}) == {'a': '1'}

    def test_changes_for_a_while(self, utils):
        call, options = context.RequestContext(
            read_deleted='no', overwrite=False), {'a': 1}
        with utils.temporary_mutation(call, read_deleted='yes'), \
                utils.temporary_mutation(options, a=2, b=3):
            assert (call.read_deleted, options) == ('yes', {'a': 2, 'b': 3})

        assert (call.read_deleted, options) == ('no', {'a': 1})

    def test_makes_directories_for_a_while(self, utils):
        with utils.tempdir(prefix='x') as path:
            assert pathlib.Path(path).is_dir()

        assert not pathlib.Path(path).exists()

    def test_runs_commands(self, utils):
        assert utils.execute('echo', 'yes') == ('yes\n', '')

    def test_spawns_native_threads_that_know_the_hosts_at_hand(self, utils):
        from nova import objects
        kept = testing.hosts(testing.a_host('a')).states()
        spawned = utils.spawn(objects.AggregateList.get_all, CALL)

        assert kept
        assert list(spawned.wait()) == []
        with pytest.raises(ZeroDivisionError):
            utils.spawn(divmod, 1, 0).wait()

    def test_spawns_what_nobody_waits_for(self, utils):
        done = threading.Event()

        assert utils.spawn_n(done.set) is None
        assert done.wait(5)


class TestAtHand:
    """The hosts that functions under Nova's names answer from."""

    @pytest.fixture
    def hosts(self):
        return testing.hosts(
            testing.a_host('a', aggregates=[
                testing.an_aggregate({'k': '1', 'availability_zone': 'z'},
                                     id=1, hosts=['a', 'b']),
                testing.an_aggregate({'l': '1'}, id=2, hosts=['a'])]),
            testing.a_host('b', aggregates=[
                testing.an_aggregate({'k': '2'}, id=3, hosts=['b'])]))

    @pytest.mark.parametrize(('method', 'args', 'found'), [
        ('get_all', (), [1, 2, 3]), ('get_by_host', ('a',), [1, 2]),
        ('get_by_host', ('a', 'l'), [2]), ('get_by_host', ('x',), []),
        ('get_by_metadata_key', ('k',), [1, 3]),
        ('get_by_metadata_key', ('k', ['a']), [1]),
        ('get_by_metadata', ('k', '2'), [3]),
        ('get_by_metadata', (None, '1'), [1, 2])])
    def test_tell_of_aggregates(self, hosts, method, args, found):
        from nova import objects
        kept = hosts.states()
        answer = getattr(objects.AggregateList, method)(CALL, *args)

        assert kept
        assert isinstance(answer, objects.AggregateList)
        assert [aggregate.id for aggregate in answer] == found

    @pytest.mark.parametrize(('name', 'args', 'found'), [
        ('aggregate_get', (2,), 2), ('aggregate_get_all', (), [1, 2, 3]),
        ('aggregate_get_by_host', ('a',), [1, 2]),
        ('aggregate_get_by_host', ('a', 'k'), [1]),
        ('aggregate_get_by_metadata_key', ('k',), [1, 3])])
    def test_tell_of_rows(self, hosts, name, args, found):
        """Of the one asked for, or of several."""
        from nova import db
        kept = hosts.states()
        answer = getattr(db, name)(CALL, *args)

        assert kept
        assert (answer['id'] if isinstance(found, int)
                else [row['id'] for row in answer]) == found

    @pytest.mark.parametrize(('name', 'args', 'found'), [
        ('aggregate_metadata_get', (2,), {'l': '1'}),
        ('aggregate_metadata_get_by_host', ('a',),
         {'k': {'1'}, 'availability_zone': {'z'}, 'l': {'1'}}),
        ('aggregate_metadata_get_by_host', ('a', 'k'), {'k': {'1'}}),
        ('aggregate_metadata_get_by_host', ('x',), {}),
        ('aggregate_metadata_get_by_metadata_key', (1, 'k'), {'k': {'1'}}),
        ('aggregate_host_get_all', (1,), ['a', 'b'])])
    def test_tell_of_metadata(self, hosts, name, args, found):
        api = importlib.import_module('nova.db.api')
        kept = hosts.states()

        assert kept
        assert getattr(api, name)(CALL, *args) == found

    def test_do_not_tell_of_an_aggregate_that_is_not_there(self, hosts):
        from nova import db
        from nova import exception as nova_exception
        kept = hosts.states()

        with pytest.raises(nova_exception.AggregateNotFound, match='9'):
            db.aggregate_get(CALL, 9)
        assert kept

    def test_are_gone_when_their_request_is_answered(self):
        """Even if somebody keeps them."""
        from nova import objects
        kept = []

        class KeepingFilter(filters.BaseHostFilter):
            def host_passes(self, host_state, spec_obj):
                objects.AggregateList.get_all(CALL)
                kept.append(host_state)
                return True

        driver = MemoryScheduler(a_host('a'))
        driver.ranker.filters = row_rules.adapted_filters([KeepingFilter()])
        current_hosts.clear()
        door(driver).select_destinations(
            CALL, instance_uuids=['u'],
            spec_obj=requests.a_request().obj_to_primitive())

        assert kept
        with pytest.raises(current_hosts.NoCurrentHosts):
            objects.AggregateList.get_all(CALL)

    def test_are_gone_with_their_request(self):
        """What is asked for is named."""
        from nova import objects
        testing.hosts(testing.a_host('a')).states()
        gc.collect()

        with pytest.raises(current_hosts.NoCurrentHosts,
                           match='get_all reads the hosts'):
            objects.AggregateList.get_all(CALL)

    @pytest.mark.parametrize(('host', 'zone'), [
        ('a', 'z'), (None, 'asked for'), ('b', 'nova')])
    def test_tell_of_an_instance_s_zone(self, hosts, host, zone):
        from nova import availability_zones
        from nova import objects
        kept = hosts.states()

        assert kept
        assert availability_zones.get_instance_availability_zone(
            CALL, objects.Instance(
                host=host, availability_zone='asked for')) == zone


class TestZones:
    """nova.availability_zones, of hosts in the zones y, z and the default."""

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

    @pytest.mark.parametrize('before', [(), ('a host API',)])
    def test_are_those_of_hosts_that_are_enabled_and_of_others(
            self, zones, before):
        assert zones.get_availability_zones(CALL, *before) == (
            ['nova', 'z'], ['y'])
        assert zones.get_availability_zones(
            CALL, *before, get_only_available=True) == ['nova', 'z']
        assert zones.get_availability_zones(
            CALL, *before, with_hosts=True) == (
            [('nova', {'d'}), ('z', {'a'})], [('y', {'c'})])

    def test_may_be_asked_for_by_position(self, zones):
        assert zones.get_availability_zones(CALL, True) == ['nova', 'z']
        assert zones.get_availability_zones(CALL, 'api', True, True) == [
            ('nova', {'d'}), ('z', {'a'})]

    def test_are_set_on_services(self, zones):
        from nova import objects
        services = [*objects.ServiceList.get_by_host(CALL, 'a'),
                    {'host': 'x', 'topic': 'conductor'}]

        assert [(service['host'], service['availability_zone']) for service
                in zones.set_availability_zones(CALL, services)] == [
            ('a', 'z'), ('x', 'internal')]

    def test_are_never_cached(self, zones):
        assert zones.reset_cache() is None
        assert zones.update_host_availability_zone_cache(CALL, 'a') is None


class TestSchedulerUtils:
    @pytest.fixture(autouse=True)
    def utils(self, tmp_path):
        path = tmp_path / 'nova.conf'
        path.write_text('[filter_scheduler]\nenabled_filters = RamFilter\n'
                        'weight_classes = my.Weigher\n')
        nova_names.provide(config.new_conf([], [str(path)]))

    def test_tells_whether_a_filter_is_enabled(self):
        from nova.scheduler import utils

        assert utils.validate_filter('RamFilter')
        assert not utils.validate_filter('DiskFilter')

    def test_tells_whether_a_weigher_runs(self):
        from nova.scheduler import utils

        assert utils.validate_weigher('my.Weigher')
        assert not utils.validate_weigher('my.OtherWeigher')

    def test_reads_options_of_pairs(self, caplog):
        from nova.scheduler import utils

        assert utils.parse_options(
            ['a=1.5', 'b=x', '=3', 'c', 'd=-2'], converter=float,
            name='my_option') == [('a', 1.5), ('d', -2.0)]
        assert [line.partition(' is')[0] for line in caplog.messages] == [
            f'Option my_option: {text!r}' for text in ('b=x', '=3', 'c')]
