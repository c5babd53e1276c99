"""nova.scheduler.manager, where Nova is not installed."""

import importlib

import pytest

from nova_sched.context import RequestContext
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid

CONTEXT = RequestContext(user_id='u')


@pytest.fixture
def nova_manager(cloud, provide):
    """The module under Nova's name; the hosts are a and b."""
    cloud.load_nodes(*map(a_compute_node, 'ab'))
    provide(f'[database]\nconnection = {cloud.url}\n')
    return importlib.import_module('nova.scheduler.manager')


@pytest.fixture
def manager(nova_manager):
    return nova_manager.SchedulerManager()


def test_placement_client_has_nova_s_methods(nova_manager, manager, cloud,
                                             provide):
    assert manager.placement_client is None
    provide(f'[database]\nconnection = {cloud.url}\n[placement]\n'
            'auth_type = none\nendpoint = http://localhost:1\n')

    client = nova_manager.SchedulerManager().placement_client

    assert client.get_allocation_candidates(
        CONTEXT, http_placement.Query()) == (None, None, None)


@pytest.mark.parametrize(('args', 'name'), [
    ((), 'FilterScheduler'), (('chance_scheduler',), 'ChanceScheduler'),
    (('nova.scheduler.chance.ChanceScheduler',), 'ChanceScheduler')])
def test_driver_is_configured_or_named(nova_manager, args, name):
    driver = nova_manager.SchedulerManager(
        **dict(zip(['scheduler_driver'], args, strict=False))).driver

    assert type(driver).__name__ == name
    assert type(driver).__module__.startswith('nova_sched.scheduler.')


def test_calls_of_kilo_mitaka_and_queens_are_answered(manager):
    request_spec = {'num_instances': 2, 'instance_type': {
        'memory_mb': 512, 'vcpus': 1, 'root_gb': 1, 'ephemeral_gb': 0}}
    assert [chosen['host'] for chosen in manager.select_destinations(
        CONTEXT, request_spec, {'ignore_hosts': ['a']})] == ['b', 'b']

    [chosen] = manager.select_destinations(
        CONTEXT, spec_obj=requests.a_request())
    assert (chosen['host'], chosen['nodename']) == ('a', 'a')

    [selections] = manager.select_destinations(
        CONTEXT, spec_obj=requests.a_request(), instance_uuids=[a_uuid()],
        return_objects=True, return_alternates=True)
    assert sorted(one.service_host for one in selections) == ['a', 'b']


def test_reset_and_periodic_work_reach_the_driver(manager, monkeypatch):
    """A reset has cells and aggregates read again."""
    calls = []
    monkeypatch.setattr(manager.driver.host_manager, 'forget_aggregates',
                        lambda: calls.append('forget'))
    monkeypatch.setattr(manager.driver, 'run_periodic_tasks', calls.append)
    manager.reset()
    manager._run_periodic_tasks(CONTEXT)

    assert calls == ['forget', CONTEXT]
