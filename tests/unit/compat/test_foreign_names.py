"""Names that plug-ins of other authors ask for are there, or are refused.

tests/data/plugin_names.txt lists them; tests/data/foreign_names.py uses some.
"""

import datetime
import functools
import importlib
import json
import logging
import pathlib
import sys
import types

from keystoneauth1 import session
import pytest

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched import testing
from nova_sched.compat import nova_names
from nova_sched.compat.nova import compute_api
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.plugins import loading
from tests.builders import clouds
from tests.builders import requests
from tests.builders import rules
from tests.builders import wild
from tests.builders.drivers import door
from tests.builders.drivers import hosts_of
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.wild import CALL

MODULE = 'foreign_names'
NAMES = [line.split() for line in (
    pathlib.Path(wild.DATA) / 'plugin_names.txt').read_text().splitlines()]

asked = functools.partial(wild.asked, module=MODULE)

pytestmark = pytest.mark.usefixtures('nova_names_anew')


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    monkeypatch.syspath_prepend(wild.DATA)
    yield
    sys.modules.pop(MODULE, None)
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def provide(tmp_path):
    """Function: has the process's configuration be of this text."""
    def provide(text):
        path = tmp_path / 'nova.conf'
        path.write_text(f'[DEFAULT]\ntransport_url = fake://\n{text}')
        nova_names.provide(config.new_conf([], [str(path)]))
    return provide


def found(name):
    """What a dotted name is of: a module, or what is in one."""
    parts, module = name.split('.'), None
    for i in range(1, len(parts) + 1):
        try:
            module = importlib.import_module('.'.join(parts[:i]))
        except ImportError:
            return functools.reduce(attribute, parts[i - 1:], module)
    return module


def attribute(owner, name):
    """An attribute, of an object where the class does not tell."""
    if isinstance(owner, type) and issubclass(owner, compute_api.LookupsOnly):
        owner = owner()
    return getattr(owner, name)


#: Methods of one's own class that are refused when it is loaded.
OVERRIDES = ('schedule_run_instance', '_weight_multiplier')


@pytest.mark.parametrize('name', [
    name for name, state in NAMES if state == 'offered'])
def test_are_there(name):
    assert found(name) is not None


@pytest.mark.parametrize('name', [
    name for name, state in NAMES if state == 'refused'
    and name.rpartition('.')[2] not in OVERRIDES])
def test_are_refused_by_name(name):
    with pytest.raises((ImportError, AttributeError)) as caught:
        found(name)

    text = f'{caught.value}{nova_names.hint(caught.value)}'
    assert name in text
    assert (nova_names.NOT_OFFERED in text
            or 'is not offered in a scheduler' in text)


@pytest.mark.parametrize(('options', 'text'), [
    ({'name': f'{MODULE}.CastingScheduler'},
     'its schedule_run_instance would never be called: override '
     'select_destinations'),
    ({'filter_scheduler__weight_classes': [f'{MODULE}.OldWeigher']},
     'its _weight_multiplier, the name until Havana, is never called; '
     'rename it to weight_multiplier')])
def test_overrides_of_old_methods_are_refused_at_the_start(
        cloud, options, text):
    with pytest.raises(exception.ConfigurationError, match=text):
        cloud.driver(**options)


def test_an_old_name_is_refused_when_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / 'foreign_import.py').write_text(
        'from nova.scheduler.filters.utils import aggregate_values_of_all')
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(exception.ConfigurationError) as caught:
        loading.load_ranker(rules.a_conf(
            available_filters=['foreign_import.Filter'],
            enabled_filters=['Filter']))

    assert str(caught.value).endswith(
        '; nova.scheduler.filters.utils.aggregate_values_of_all '
        + nova_names.NOT_OFFERED)


class TestWhileDeciding:
    """What is missing only then is told as at the start."""

    @pytest.mark.parametrize(('name', 'weigher', 'missing'), [
        ('LateFilter', False,
         'nova.scheduler.filters.utils.aggregate_values_of_all'),
        ('LateWeigher', True, 'nova.objects.NoSuch')])
    def test_of_a_rule(self, cloud, caplog, name, weigher, missing):
        cloud.load(['a', 'b'])
        with pytest.raises((AttributeError, ImportError)):
            asked(cloud, name, weigher=weigher)

        [line] = [line for line in caplog.messages
                  if f'{name} failed' in line]
        assert line.count(f'; {missing} {nova_names.NOT_OFFERED}') == 1

    def test_of_a_driver(self, cloud):
        cloud.load(['a'])
        driver = cloud.driver(f'{MODULE}.LateScheduler')
        with pytest.raises(AttributeError) as caught:
            door(driver).select_destinations(
                CALL, instance_uuids=['u'],
                spec_obj=requests.a_request().obj_to_primitive())
        driver.stop()

        assert str(caught.value).endswith(
            f'; nova.objects.NoSuch {nova_names.NOT_OFFERED}')

    def test_of_what_would_change_a_cloud(self, cloud, caplog):
        cloud.load(['a'], instances=[
            clouds.an_instance('a', uuid=clouds.a_uuid(11))])
        with pytest.raises(AttributeError):
            asked(cloud, 'KillingFilter')

        assert 'nova.compute.api.API.delete is not offered' in caplog.text


class TestDriver:
    def test_with_both_methods_is_asked_by_the_later_one(self, cloud):
        cloud.load(['a'])
        driver = cloud.driver(f'{MODULE}.BothScheduler')
        found = hosts_of(driver.select_destinations(
            CALL, requests.a_request(), [clouds.a_uuid(7)]))
        driver.stop()

        assert found == [['a']]
        assert type(driver.options).__module__.endswith('scheduler_options')
        with pytest.raises(AttributeError, match=(
                r'rpcapi\.ComputeAPI\.run_instance is not')):
            driver.schedule_run_instance(CALL, {})

    def test_s_options_are_what_filters_get(self, cloud):
        driver = cloud.driver(f'{MODULE}.BothScheduler')
        driver.options = types.SimpleNamespace(
            get_configuration=lambda: {'k': 1})

        assert driver._get_configuration_options() == {'k': 1}

        driver.options = {'of': 'their own'}

        assert driver._get_configuration_options() == {}
        driver.stop()


class TestMetrics:
    TEXT = json.dumps([
        {'name': 'cpu.percent', 'value': 0.37, 'source': 's',
         'timestamp': '2026-01-02T03:04:05.500000'},
        {'name': 'cpu.frequency', 'value': 1600, 'source': 's',
         'timestamp': None},
        {'name': 'numa.membw.max', 'numa_membw_values': {'0': 10},
         'source': 's', 'timestamp': None}])

    def of_host(self):
        state, = hosts(a_host(metrics=self.TEXT)).states()
        return state.metrics

    def from_text(self):
        from nova import objects
        return objects.MonitorMetricList.from_json(self.TEXT)

    def of_a_made_state(self):
        from nova.scheduler import host_manager
        state = host_manager.HostState('h', 'n', 'c')
        assert state.metrics is None
        state.update(types.SimpleNamespace(metrics=self.TEXT))
        return state.metrics

    @pytest.mark.parametrize('of', [of_host, from_text, of_a_made_state])
    def test_are_objects_and_a_list_as_they_were_reported(self, of):
        metrics = of(self)

        assert metrics.to_list() == json.loads(self.TEXT)
        assert [metric.value for metric in metrics] == [37, 1600, None]
        assert metrics[0].timestamp == datetime.datetime(
            2026, 1, 2, 3, 4, 5, 500000, tzinfo=datetime.UTC)
        assert metrics.objects[2].numa_membw_values == {'0': 10}
        assert not metrics[2].obj_attr_is_set('value')
        assert len(metrics) == 3

    def test_are_found_by_name_as_in_kilo(self):
        from nova.scheduler import host_manager
        metrics = self.of_host()

        assert metrics['cpu.percent'] == metrics.get('cpu.percent') == (
            host_manager.MetricItem(0.37, '2026-01-02T03:04:05.500000', 's'))
        assert metrics['numa.membw.max'].value is None
        assert metrics.get('other', 1) == 1
        assert 'cpu.percent' in metrics and 'other' not in metrics
        assert metrics[1] in metrics
        with pytest.raises(KeyError, match='other'):
            metrics['other']

    @pytest.mark.parametrize('text', [None, '', '[]'])
    def test_are_none_without_any(self, text):
        from nova import objects
        state, = hosts(a_host(metrics=text)).states()

        assert state.metrics.to_list() == []
        assert objects.MonitorMetricList.from_json(text).to_list() == []


def test_rows_of_aggregates_have_metadetails():
    from nova import db
    kept = hosts(a_host('a', aggregates=[{'k': '1'}])).states()
    [row] = db.aggregate_get_by_host(CALL, 'a')

    assert kept
    assert row['metadetails'].get('k') == '1'
    assert row.metadetails == row.get('metadetails') == row.metadata
    assert row.get('metadetails', {}) == {'k': '1'}
    assert row['availability_zone'] is None


class TestLog:
    def test_has_a_level_between_info_and_warning(self, caplog):
        from nova.openstack.common import log
        caplog.set_level(logging.INFO)
        log.getLogger('foreign').audit('%s is %d', 'this', 1)

        [record] = caplog.records
        assert (record.levelname, record.levelno, record.getMessage()) == (
            'AUDIT', logging.INFO + 1, 'this is 1')
        assert record.funcName.startswith('test_has_a_level')

    def test_has_all_else_of_the_library(self):
        from nova.openstack.common import log
        from oslo_log import log as library

        assert log.register_options is library.register_options
        log.getLogger('foreign').info('as ever')


def test_texts_may_be_marked_without_an_import():
    import nova  # noqa: F401

    assert eval("_('text')", {}) == 'text'


class TestTypesOfHypervisors:
    @pytest.fixture(params=['nova.objects.fields', 'nova.compute.hv_type'])
    def types(self, request):
        module = importlib.import_module(request.param)
        return module.HVType() if hasattr(module, 'HVType') else module

    @pytest.mark.parametrize(('name', 'meant'), [
        ('QEMU', 'qemu'), ('xapi', 'xen'), (None, None), ('vz', 'vz')])
    def test_have_names_in_lower_case(self, types, name, meant):
        assert types.canonicalize(name) == meant

    def test_are_those_alone(self, types):
        from nova import exception as nova_exception
        with pytest.raises(nova_exception.InvalidHypervisorVirtType,
                           match='nothing'):
            types.canonicalize('nothing')

        assert issubclass(nova_exception.InvalidHypervisorVirtType,
                          nova_exception.Invalid)
        assert types.is_valid('kvm') and not types.is_valid('KVM')
        assert types.KVM in types.ALL
        assert types.VIRTUOZZO == 'vz'


class TestReportClient:
    def test_is_one_in_the_process(self):
        from nova.scheduler.client import report
        one = report.report_client_singleton()

        assert one is report.report_client_singleton()
        assert type(one) is report.SchedulerReportClient

    def test_of_a_shadow_is_its_own(self, monkeypatch):
        from nova.scheduler.client import report

        from nova_sched.compat.nova import reach
        only = report.SchedulerReportClient()
        monkeypatch.setattr(reach, 'reader', only)

        assert report.report_client_singleton() is only

    def test_takes_no_adapter(self):
        from nova.scheduler.client import report

        assert report.SchedulerReportClient(adapter=None)
        with pytest.raises(TypeError, match=r'\[placement\]'):
            report.SchedulerReportClient(adapter=object())

    def test_asks_under_a_global_id(self):
        from nova_sched.placement import claims

        assert claims.RequestIdentity.of(types.SimpleNamespace(
            global_id='req-x')).request_id == 'req-x'


class TestInstances:
    @pytest.fixture
    def servers(self, cloud):
        """A server that boots from a volume on a, one that does not on b."""
        uuids = {'a': clouds.a_uuid(11), 'b': clouds.a_uuid(12)}
        cloud.load(['a', 'b'], instances=[
            clouds.an_instance(host, uuid=uuid)
            for host, uuid in uuids.items()])
        cloud.execute(
            'CREATE TABLE block_device_mapping (id INTEGER, deleted INTEGER, '
            'instance_uuid TEXT, device_name TEXT, source_type TEXT, '
            'destination_type TEXT, guest_format TEXT, boot_index INTEGER, '
            'volume_id TEXT, volume_size INTEGER, image_id TEXT, '
            'delete_on_termination INTEGER, no_device INTEGER)')
        for number, (host, index, kind, gone) in enumerate((
                ('a', 0, 'volume', 0), ('a', 1, 'local', 0),
                ('b', 0, 'volume', 1), ('b', 0, 'local', 0))):
            cloud.execute(
                'INSERT INTO block_device_mapping VALUES (?, ?, ?, NULL, '
                "'image', ?, NULL, ?, NULL, 8, NULL, 1, 0)", number, gone,
                uuids[host], kind, index)
        cloud.execute('CREATE TABLE instance_metadata (id INTEGER, deleted '
                      'INTEGER, instance_uuid TEXT, key TEXT, value TEXT)')
        cloud.execute("INSERT INTO instance_metadata VALUES (1, 0, ?, 'role',"
                      " 'db')", uuids['a'])
        return cloud

    def test_have_block_devices_and_metadata(self, servers, caplog):
        caplog.set_level(logging.INFO)

        assert asked(servers, 'VolumeFilter') == ['a']
        assert {"Roles on a: ['db']", 'Roles on b: [None]'} <= {
            *caplog.messages}

    def test_have_none_in_a_database_without_the_table(self, servers):
        servers.execute('DROP TABLE block_device_mapping')

        assert asked(servers, 'VolumeFilter') == []

    @pytest.fixture
    def block_devices(self):
        """Of the instance u1 on a: one; u2 has none."""
        return testing.hosts(testing.a_host('a'), running={
            'u1': {'host': 'a'}, 'u2': {'host': 'a'}}).states()

    def test_that_are_not_known_have_none(self, block_devices):
        from nova import objects
        lists = objects.BlockDeviceMappingList

        assert block_devices
        assert list(lists.get_by_instance_uuid(CALL, 'x')) == []
        assert list(lists.get_by_instance_uuids(CALL, ['u1', 'x'])) == []
        assert lists.bdms_by_instance_uuid(CALL, ['u1']) == {}
        assert lists().root_bdm() is None

    def test_are_told_of_by_an_api(self, block_devices):
        from nova import compute
        from nova.api.openstack import common
        webob_exc = pytest.importorskip('webob.exc')
        api = compute.API('any', argument=1)

        assert block_devices
        assert common.get_instance(api, CALL, 'u1').uuid == 'u1'
        assert api.get_instance_metadata(CALL, {'uuid': 'u1'}) == {}
        assert api.get_instance_metadata(CALL, {'uuid': 'x'}) == {}
        with pytest.raises(webob_exc.HTTPNotFound) as caught:
            common.get_instance(api, CALL, 'x')
        assert 'x' in caught.value.explanation

    def test_raise_what_is_there_to_raise(self, block_devices, monkeypatch):
        from nova import compute
        from nova import exception as nova_exception
        from nova.api.openstack import common
        monkeypatch.setitem(sys.modules, 'webob.exc', None)

        assert block_devices
        with pytest.raises(nova_exception.InstanceNotFound):
            common.get_instance(compute.API(), CALL, 'x')


def test_the_topic_of_compute_services_is_an_option():
    from nova.compute import rpcapi

    assert nova_conf.CONF.compute_topic == rpcapi.RPC_TOPIC == 'compute'


class TestCache:
    def test_keeps_values_in_the_process(self):
        from nova import cache_utils
        client = cache_utils.get_client()

        assert client.get('k') is None
        assert client.set('k', 1) is True
        assert client.add('k', 2) is False and client.add('l', 3) is True
        assert client.get_or_create('k', None) == 1
        assert client.get_or_create('m', lambda: 4) == 4
        assert client.get_multi(['k', 'l', 'x']) == [1, 3, None]
        client.delete('k')
        client.delete_multi(['l', 'x'])
        assert client.get_multi(['k', 'l', 'm']) == [None, None, 4]
        assert cache_utils.get_client().get('m') is None

    def test_keeps_them_as_long_as_asked(self):
        from nova import cache_utils
        now = [0]
        client = cache_utils.CacheClient(10, lambda: now[0])
        client.set('k', 1)
        now[0] = 5
        client.set('l', 2)
        assert client.get('k') == 1
        now[0] = 10
        assert client.get_multi(['k', 'l']) == [None, 2]
        client.set('m', 3)
        assert client._kept.keys() == {'l', 'm'}

    @pytest.mark.parametrize('name', ['get_client', 'get_memcached_client'])
    def test_is_not_shared(self, provide, name):
        from nova import cache_utils
        ask = getattr(cache_utils, name)
        assert name == 'get_client' or ask(60) is None
        provide('[cache]\nenabled = true\n')

        with pytest.raises(RuntimeError, match=r'\[cache\] enabled'):
            ask()


class TestTokens:
    CATALOG = [{'type': 'identity', 'name': 'keystone', 'endpoints': [
        {'publicURL': 'http://keystone', 'region': 'r'}]}]
    CALL = context.RequestContext(
        auth_token='gAAA', service_catalog=CATALOG, project_id='p',
        overwrite=False)

    @pytest.fixture
    def auth(self):
        found = importlib.import_module('nova.service_auth')
        found._service_auth.cache_clear()
        return found

    def test_are_those_of_who_asks(self, auth):
        plugin = auth.get_auth_plugin(self.CALL)
        asking = session.Session(auth=plugin)

        assert asking.get_token() == 'gAAA'
        assert asking.get_endpoint(
            service_type='identity', interface='public') == 'http://keystone'
        assert auth.get_auth_plugin(self.CALL, plugin) is plugin

    def test_have_one_of_the_service_beside_them(self, auth, provide):
        provide('[service_user]\nsend_service_user_token = true\n'
                'auth_type = admin_token\nendpoint = http://x\n'
                'token = service\n')
        asking = session.Session(auth=auth.get_auth_plugin(self.CALL))
        headers = asking.get_auth_headers()

        assert headers['X-Auth-Token'] == 'gAAA'
        assert headers['X-Service-Token'] == 'service'

    def test_of_a_service_without_a_log_in_are_refused(self, auth, provide):
        provide('[service_user]\nsend_service_user_token = true\n')

        with pytest.raises(RuntimeError, match='no auth_type'):
            auth.get_auth_plugin(self.CALL)


class TestCinder:
    def test_is_asked_for_the_user(self, provide):
        from nova.volume import cinder
        provide('[cinder]\ncatalog_info = volumev3:cinderv3:internalURL\n'
                'endpoint_template = http://c/v3/%(project_id)s\n'
                'os_region_name = here\nhttp_retries = 5\n')
        asked = cinder.cinderclient(TestTokens.CALL, microversion='3.44')

        assert asked.pop('auth').get_token(None) == 'gAAA'
        assert isinstance(asked.pop('session'), session.Session)
        assert asked == {
            'version': '3.44', 'endpoint_override': 'http://c/v3/p',
            'connect_retries': 5, 'service_type': 'volumev3',
            'service_name': 'cinderv3', 'interface': 'internalURL',
            'region_name': 'here',
            'global_request_id': TestTokens.CALL.global_id}

    def test_is_refused_at_once_without_its_library(self, monkeypatch):
        monkeypatch.setitem(sys.modules, 'cinderclient.client', None)

        with pytest.raises(ImportError, match=(
                r'nova\.volume\.cinder is not offered .*python-cinderclient')):
            importlib.import_module('nova.volume.cinder')
