"""Plug-ins that use Nova's names as many do decide where there is no Nova.

They are in tests/data/wild_plug_ins.py.
"""

import gc
import importlib
import pathlib
import sys

import pytest

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched import testing
from nova_sched.objects import at_hand
from nova_sched.plugins import nova_names
from nova_sched.plugins.nova import conf as nova_conf
from tests.builders import clouds
from tests.builders import requests
from tests.builders import rules
from tests.builders.drivers import hosts_of

DATA = pathlib.Path(__file__).parents[2] / 'data'
CALL = context.RequestContext(project_id='p', user_id='u', overwrite=False)


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    """Their module can be imported."""
    monkeypatch.syspath_prepend(DATA)
    yield
    sys.modules.pop('wild_plug_ins', None)
    nova_conf.follow(rules.a_conf())


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


def asked(cloud, name, spec=None, weigher=False):
    """Names of the hosts that a plug-in leaves, best first."""
    paths = [f'wild_plug_ins.{name}']
    driver = cloud.driver(
        filter_scheduler__weight_classes=paths if weigher else [],
        filter_scheduler__available_filters=[] if weigher else paths,
        filter_scheduler__enabled_filters=[] if weigher else [name],
        scheduler__max_attempts=9)
    try:
        [found] = hosts_of(driver.select_destinations(
            CALL, spec or requests.a_request(), [clouds.a_uuid(7)],
            return_alternates=True))
    except exception.NoValidHost:
        return []
    finally:
        driver.stop()
    return found


def beside(host):
    return requests.a_request(hints={'beside': [host]})


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


def test_a_flavor_is_a_dict_as_well(racks):
    assert len(asked(racks, 'SmallFlavorFilter',
                     requests.a_request(memory_mb=512))) == 4


def test_a_multiplier_is_what_aggregates_say(racks):
    assert asked(racks, 'RackWeigher', weigher=True)[-1] == 'b'


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

    def test_are_gone_with_their_request(self):
        """What is asked for is named."""
        from nova import objects
        testing.hosts(testing.a_host('a')).states()
        gc.collect()

        with pytest.raises(at_hand.NothingAtHand, match='get_all is answered'):
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
