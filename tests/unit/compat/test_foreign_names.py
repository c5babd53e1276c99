"""Plug-ins of tests/data/foreign_names.py, and the names they use."""

import datetime
import functools
import importlib
import json
import logging
import sys
import types

from keystoneauth1 import session
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import testing
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from tests.builders import clouds
from tests.builders import requests
from tests.builders import wild
from tests.builders.drivers import door
from tests.builders.drivers import hosts_of
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.wild import CALL

MODULE = 'foreign_names'

passing = functools.partial(wild.asked, module=MODULE)

pytestmark = pytest.mark.usefixtures('fresh_nova_names')


class TestRefusals:
    @pytest.mark.parametrize(('options', 'text'), [
        ({'name': f'{MODULE}.CastingScheduler'},
         'its schedule_run_instance would never be called: override '
         'select_destinations'),
        ({'filter_scheduler__weight_classes': [f'{MODULE}.OldWeigher']},
         'its _weight_multiplier, the name until Havana, is never called; '
         'rename it to weight_multiplier')])
    def test_override_of_an_old_method_is_refused_at_start(
            self, cloud, options, text):
        with pytest.raises(exception.ConfigurationError, match=text):
            cloud.driver(**options)

    @pytest.mark.parametrize(('name', 'weigher', 'text'), [
        ('LateFilter', False,
         'nova.scheduler.filters.utils.aggregate_values_of_all '
         + nova_names.NOT_OFFERED),
        ('LateWeigher', True, f'nova.objects.NoSuch {nova_names.NOT_OFFERED}'),
        ('KillingFilter', False,
         'nova.compute.api.API.delete is not offered')])
    def test_rule_that_fails_names_what_is_missing(
            self, cloud, caplog, name, weigher, text):
        cloud.load(['a', 'b'], instances=[
            clouds.an_instance('a', uuid=clouds.a_uuid(11))])
        with pytest.raises((AttributeError, ImportError)):
            passing(cloud, name, weigher=weigher)

        [line] = [line for line in caplog.messages
                  if f'{name} failed' in line]
        assert line.count(text) == 1

    def test_driver_that_fails_names_what_is_missing(self, cloud):
        cloud.load(['a'])
        driver = cloud.driver(f'{MODULE}.LateScheduler')
        with pytest.raises(AttributeError) as caught:
            door(driver).select_destinations(
                CALL, instance_uuids=['u'],
                spec_obj=requests.a_request().obj_to_primitive())
        driver.stop()

        assert str(caught.value).endswith(
            f'; nova.objects.NoSuch {nova_names.NOT_OFFERED}')


class TestDriverOfJuno:
    @pytest.fixture
    def driver(self, cloud):
        cloud.load(['a'])
        driver = cloud.driver(f'{MODULE}.BothScheduler')
        yield driver
        driver.stop()

    def test_later_of_two_methods_is_called(self, driver):
        assert hosts_of(driver.select_destinations(
            CALL, requests.a_request(), [clouds.a_uuid(7)])) == [['a']]
        assert type(driver.options).__module__.endswith('scheduler_options')
        with pytest.raises(AttributeError, match=(
                r'rpcapi\.ComputeAPI\.run_instance is not')):
            driver.schedule_run_instance(CALL, {})

    def test_its_options_reach_filters(self, driver):
        for options, received in (
                (types.SimpleNamespace(get_configuration=lambda: {'k': 1}),
                 {'k': 1}), ({'of': 'their own'}, {})):
            driver.options = options

            assert driver._get_configuration_options() == received


class TestMetrics:
    TEXT = json.dumps([
        {'name': 'cpu.percent', 'value': 0.37, 'source': 's',
         'timestamp': '2026-01-02T03:04:05.500000'},
        {'name': 'cpu.frequency', 'value': 1600, 'source': 's',
         'timestamp': None},
        {'name': 'numa.membw.max', 'numa_membw_values': {'0': 10},
         'source': 's', 'timestamp': None}])

    @staticmethod
    def of_host(text=TEXT):
        state, = hosts(a_host(metrics=text)).states()
        return state.metrics

    @staticmethod
    def from_json(text=TEXT):
        from nova import objects
        return objects.MonitorMetricList.from_json(text)

    @staticmethod
    def of_updated_state(text=TEXT):
        from nova.scheduler import host_manager
        state = host_manager.HostState('h', 'n', 'c')
        assert state.metrics is None
        state.update(types.SimpleNamespace(metrics=text))
        return state.metrics

    @pytest.mark.parametrize('make', [of_host, from_json, of_updated_state])
    def test_values_are_as_reported(self, make):
        metrics = make()

        assert metrics.to_list() == json.loads(self.TEXT)
        assert [metric.value for metric in metrics] == [37, 1600, None]
        assert metrics[0].timestamp == datetime.datetime(
            2026, 1, 2, 3, 4, 5, 500000, tzinfo=datetime.UTC)
        assert metrics.objects[2].numa_membw_values == {'0': 10}
        assert not metrics[2].obj_attr_is_set('value')
        assert len(metrics) == 3

    def test_kilo_finds_them_by_name(self):
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
    def test_empty_text_has_no_metrics(self, text):
        assert self.of_host(text).to_list() == []
        assert self.from_json(text).to_list() == []


def test_aggregate_rows_have_metadetails():
    from nova import db
    states = hosts(a_host('a', aggregates=[{'k': '1'}])).states()
    [row] = db.aggregate_get_by_host(CALL, 'a')

    assert states
    assert row['metadetails'].get('k') == '1'
    assert row.metadetails == row.metadata == row.get('metadetails', {}) == {
        'k': '1'}
    assert row['availability_zone'] is None


def test_log_has_the_level_audit(caplog):
    """Between INFO and WARNING; the rest is oslo.log's."""
    from nova.openstack.common import log
    from oslo_log import log as library
    caplog.set_level(logging.INFO)
    log.getLogger('foreign').audit('%s is %d', 'this', 1)

    [record] = caplog.records
    assert (record.levelname, record.levelno, record.getMessage()) == (
        'AUDIT', logging.INFO + 1, 'this is 1')
    assert record.funcName == 'test_log_has_the_level_audit'
    assert log.register_options is library.register_options
    log.getLogger('foreign').info('as ever')


@pytest.mark.parametrize('name', ['objects.fields', 'compute.hv_type'])
def test_hypervisor_types_have_names_in_lower_case(name):
    from nova import exception as nova_exception
    hv_type = importlib.import_module(f'nova.{name}')
    hv_type = hv_type.HVType() if hasattr(hv_type, 'HVType') else hv_type

    assert [hv_type.canonicalize(text) for text in (
        'QEMU', 'xapi', None, 'vz')] == ['qemu', 'xen', None, 'vz']
    assert hv_type.is_valid('kvm') and not hv_type.is_valid('KVM')
    assert hv_type.KVM in hv_type.ALL
    with pytest.raises(nova_exception.InvalidHypervisorVirtType,
                       match='nothing') as caught:
        hv_type.canonicalize('nothing')
    assert isinstance(caught.value, nova_exception.Invalid)


class TestReportClient:
    @pytest.fixture
    def report(self):
        return importlib.import_module('nova.scheduler.client.report')

    def test_process_has_one(self, report):
        client = report.report_client_singleton()

        assert client is report.report_client_singleton()
        assert type(client) is report.SchedulerReportClient

    def test_shadow_has_its_own(self, report, monkeypatch):
        from nova_sched.compat.nova import reach
        client = report.SchedulerReportClient()
        monkeypatch.setattr(reach, 'reader', client)

        assert report.report_client_singleton() is client

    def test_takes_no_adapter(self, report):
        assert report.SchedulerReportClient(adapter=None)
        with pytest.raises(TypeError, match=r'\[placement\]'):
            report.SchedulerReportClient(adapter=object())


class TestInstances:
    @pytest.fixture
    def servers(self, cloud):
        """The server on a boots from a volume, the server on b does not."""
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

        assert passing(servers, 'VolumeFilter') == ['a']
        assert {"Roles on a: ['db']", 'Roles on b: [None]'} <= {
            *caplog.messages}
        servers.execute('DROP TABLE block_device_mapping')
        assert passing(servers, 'VolumeFilter') == []

    @pytest.fixture
    def states(self):
        """Host a with the instances u1 and u2."""
        return testing.hosts(testing.a_host('a'), running={
            'u1': {'host': 'a'}, 'u2': {'host': 'a'}}).states()

    def test_unknown_instance_has_no_block_devices(self, states):
        from nova import objects
        lists = objects.BlockDeviceMappingList

        assert list(lists.get_by_instance_uuid(CALL, 'x')) == []
        assert list(lists.get_by_instance_uuids(CALL, ['u1', 'x'])) == []
        assert lists().root_bdm() is None

    def test_api_returns_them(self, states):
        from nova import compute
        from nova.api.openstack import common
        webob_exc = pytest.importorskip('webob.exc')
        api = compute.API('any', argument=1)

        assert common.get_instance(api, CALL, 'u1').uuid == 'u1'
        assert api.get_instance_metadata(CALL, {'uuid': 'u1'}) == {}
        assert api.get_instance_metadata(CALL, {'uuid': 'x'}) == {}
        with pytest.raises(webob_exc.HTTPNotFound) as caught:
            common.get_instance(api, CALL, 'x')
        assert 'x' in caught.value.explanation

    def test_unknown_instance_is_nova_s_error_without_webob(
            self, states, monkeypatch):
        from nova import compute
        from nova import exception as nova_exception
        from nova.api.openstack import common
        monkeypatch.setitem(sys.modules, 'webob.exc', None)

        with pytest.raises(nova_exception.InstanceNotFound):
            common.get_instance(compute.API(), CALL, 'x')


def test_topic_of_compute_services_is_an_option():
    importlib.import_module('nova.compute.rpcapi')

    assert nova_conf.CONF.compute_topic == 'compute'


class TestCache:
    def test_values_are_kept_in_the_process(self):
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

    def test_values_expire(self):
        from nova import cache_utils
        now = [0]
        client = cache_utils.CacheClient(10, lambda: now[0])
        client.set('k', 1)
        now[0] = 5
        client.set('l', 2)
        assert client.get('k') == 1
        now[0] = 10
        assert (client.get('k'), client.get('l')) == (None, 2)

    @pytest.mark.parametrize('name', ['get_client', 'get_memcached_client'])
    def test_shared_cache_is_refused(self, provide, name):
        from nova import cache_utils
        get = getattr(cache_utils, name)
        assert name == 'get_client' or get(60) is None
        provide('[cache]\nenabled = true\n')

        with pytest.raises(RuntimeError, match=r'\[cache\] enabled'):
            get()


class TestTokens:
    CALL = context.RequestContext(
        auth_token='gAAA', project_id='p', overwrite=False, service_catalog=[
            {'type': 'identity', 'name': 'keystone', 'endpoints': [
                {'publicURL': 'http://keystone', 'region': 'r'}]}])

    @pytest.fixture
    def auth(self):
        module = importlib.import_module('nova.service_auth')
        module._service_auth.cache_clear()
        return module

    def test_plugin_has_the_user_s_token(self, auth):
        plugin = auth.get_auth_plugin(self.CALL)
        user_session = session.Session(auth=plugin)

        assert user_session.get_token() == 'gAAA'
        assert user_session.get_endpoint(
            service_type='identity', interface='public') == 'http://keystone'
        assert auth.get_auth_plugin(self.CALL, plugin) is plugin

    def test_service_token_is_sent_too(self, auth, provide):
        provide('[service_user]\nsend_service_user_token = true\n'
                'auth_type = admin_token\nendpoint = http://x\n'
                'token = service\n')
        headers = session.Session(
            auth=auth.get_auth_plugin(self.CALL)).get_auth_headers()

        assert headers['X-Auth-Token'] == 'gAAA'
        assert headers['X-Service-Token'] == 'service'

    def test_service_token_needs_an_auth_type(self, auth, provide):
        provide('[service_user]\nsend_service_user_token = true\n')

        with pytest.raises(RuntimeError, match='no auth_type'):
            auth.get_auth_plugin(self.CALL)


class TestCinder:
    def test_client_acts_for_the_user(self, provide):
        from nova.volume import cinder
        provide('[cinder]\ncatalog_info = volumev3:cinderv3:internalURL\n'
                'endpoint_template = http://c/v3/%(project_id)s\n'
                'os_region_name = here\nhttp_retries = 5\n')
        options = cinder.cinderclient(TestTokens.CALL, microversion='3.44')

        assert options.pop('auth').get_token(None) == 'gAAA'
        assert isinstance(options.pop('session'), session.Session)
        assert options == {
            'version': '3.44', 'endpoint_override': 'http://c/v3/p',
            'connect_retries': 5, 'service_type': 'volumev3',
            'service_name': 'cinderv3', 'interface': 'internalURL',
            'region_name': 'here',
            'global_request_id': TestTokens.CALL.global_id}

    def test_missing_library_is_an_import_error(self, monkeypatch):
        monkeypatch.setitem(sys.modules, 'cinderclient.client', None)

        with pytest.raises(ImportError, match=(
                r'nova\.volume\.cinder is not offered .*python-cinderclient')):
            importlib.import_module('nova.volume.cinder')
