"""A driver of somebody else's, in a shadow."""

import pytest

from nova_sched.compat.nova import client
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import rpc
from nova_sched.scheduler.filter_scheduler import FilterScheduler
from tests.unit.dry_run.shadow.stage import Stage


class Claiming(FilterScheduler):
    """Claims, gives back, and sends notifications by itself."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        [uuid] = instance_uuids
        found = self.client()
        assert found.claim_resources(
            context, uuid, {'allocations': {}}, 'project', 'user', '1.28')
        assert found.delete_allocation_for_instance(context, uuid)
        found.forget(uuid)
        notifier = rpc.notifier(self.conf, 'a.publisher')
        assert list(notifier._driver_mgr.names()) == ['noop']
        return super().select_destinations(context, spec_obj, instance_uuids,
                                           **kwargs)


class ByTheDrivers(Claiming):
    def client(self):
        return self.placement_client


class ByOnesOwn(Claiming):
    def client(self):
        return client.SchedulerClient().reportclient


class Derived(FilterScheduler):
    """Claims by a client that derives from Nova's."""

    class Client(client.report.SchedulerReportClient):
        """More than Nova's."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        self.Client().put('/allocations/x', {})


class Asking(FilterScheduler):
    """Asks another scheduler."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        client.SchedulerClient().select_destinations(
            context, spec_obj, instance_uuids)


@pytest.fixture
def told(hosts, server, tmp_path):
    """Function: what a shadow with a driver of that class tells of a call."""
    def told(driver):
        stage = Stage(hosts(), server, tmp_path,
                      scheduler__driver=f'{__name__}.{driver}')
        for name in ('auth_type', 'endpoint_override'):
            nova_conf.CONF.set_override(
                name, stage.decider.driver.conf.placement[name], 'placement')
        stage.place('a')
        stage.close()
        assert {asked.method for asked in server.asked} == {'GET'}
        return stage.entries()[0]['here']['outcome']
    yield told
    for name in ('auth_type', 'endpoint_override'):
        nova_conf.CONF.clear_override(name, 'placement')


@pytest.mark.parametrize('driver', ['ByTheDrivers', 'ByOnesOwn'])
def test_what_a_driver_claims_by_itself_is_not_sent(told, driver):
    assert told(driver) == 'placed'


@pytest.mark.parametrize('driver', ['Derived', 'Asking'])
def test_what_would_change_the_cloud_fails(told, driver):
    assert told(driver) == 'failed'
