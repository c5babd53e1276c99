"""A third-party driver in a shadow."""

import pytest

from nova_sched.compat.nova import client
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import rpc
from nova_sched.scheduler.filter_scheduler import FilterScheduler
from tests.unit.dry_run.shadow.stage import Stage


class Claiming(FilterScheduler):
    """Claims, releases and sends notifications."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        [uuid] = instance_uuids
        placement = self.client()
        assert placement.claim_resources(
            context, uuid, {'allocations': {}}, 'project', 'user', '1.28')
        assert placement.delete_allocation_for_instance(context, uuid)
        placement.forget(uuid)
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
    """Claims with a client that derives from Nova's."""

    class Client(client.report.SchedulerReportClient):
        """A client with additions."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        self.Client().put('/allocations/x', {})


class Asking(FilterScheduler):
    """Calls another scheduler."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        client.SchedulerClient().select_destinations(
            context, spec_obj, instance_uuids)


@pytest.fixture
def outcome(hosts, server, tmp_path):
    """Function: return the outcome of a call with a driver's name."""
    def outcome(driver):
        stage = Stage(hosts(), server, tmp_path,
                      scheduler__driver=f'{__name__}.{driver}')
        for name in ('auth_type', 'endpoint_override'):
            nova_conf.CONF.set_override(
                name, stage.decider.driver.conf.placement[name], 'placement')
        stage.place('a')
        stage.close()
        assert {asked.method for asked in server.asked} == {'GET'}
        return stage.entries()[0]['here']['outcome']
    yield outcome
    for name in ('auth_type', 'endpoint_override'):
        nova_conf.CONF.clear_override(name, 'placement')


@pytest.mark.parametrize(('driver', 'expected'), [
    ('ByTheDrivers', 'placed'), ('ByOnesOwn', 'placed'),
    ('Derived', 'failed'), ('Asking', 'failed')])
def test_claims_of_driver_are_not_sent(outcome, driver, expected):
    """Other changes of the cloud fail."""
    assert outcome(driver) == expected
