"""nova.scheduler.manager, where Nova is not installed."""

import importlib

import oslo_messaging as messaging
import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.context import RequestContext
from nova_sched.scheduler import chance
from nova_sched.scheduler import filter_scheduler
from tests.builders import http_placement
from tests.builders import requests
from tests.builders import rules
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.unit.compat.test_nova_drivers import plug_ins  # noqa: F401

CONTEXT = RequestContext(user_id='u')


@pytest.fixture
def nova_manager(cloud, tmp_path):
    """The module under Nova's name; there are the hosts a and b."""
    cloud.load_nodes(*map(a_compute_node, 'ab'))
    path = tmp_path / 'nova.conf'
    path.write_text(f'[database]\nconnection = {cloud.url}\n')
    nova_names.provide(config.new_conf([], [str(path)]))
    yield importlib.import_module('nova.scheduler.manager')
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def manager(nova_manager):
    return nova_manager.SchedulerManager()


def test_it_is_made_without_arguments_of_the_configured_driver(manager):
    assert type(manager.driver) is filter_scheduler.FilterScheduler
    assert manager.placement_client is None


def test_client_of_placement_has_the_methods_of_nova(nova_manager, tmp_path):
    with open(tmp_path / 'nova.conf', 'a') as file:
        file.write('[placement]\nauth_type = none\n'
                   'endpoint = http://localhost:1\n')
    nova_names.provide(config.new_conf([], [str(tmp_path / 'nova.conf')]))

    client = nova_manager.SchedulerManager().placement_client

    assert client.get_allocation_candidates(
        CONTEXT, http_placement.Query()) == (None, None, None)


@pytest.mark.parametrize('name', [
    'chance_scheduler', 'nova.scheduler.chance.ChanceScheduler'])
def test_a_driver_may_be_named(nova_manager, name):
    made = nova_manager.SchedulerManager(scheduler_driver=name)

    assert type(made.driver) is chance.ChanceScheduler


def test_the_driver_may_be_one_written_for_nova(nova_manager):
    made = nova_manager.SchedulerManager('older_drivers.MitakaScheduler')

    assert made.select_destinations(
        CONTEXT, spec_obj=requests.a_request()) == [
            {'host': 'b', 'nodename': 'b', 'limits': {}}]


def test_a_name_of_no_driver_is_refused(nova_manager):
    with pytest.raises(exception.ConfigurationError, match='did you mean'):
        nova_manager.SchedulerManager('chance_schedular')


def test_it_is_asked_as_in_kilo(manager):
    request_spec = {'num_instances': 2, 'instance_type': {
        'memory_mb': 512, 'vcpus': 1, 'root_gb': 1, 'ephemeral_gb': 0}}

    assert [one['host'] for one in manager.select_destinations(
        CONTEXT, request_spec, {'ignore_hosts': ['a']})] == ['b', 'b']


def test_it_is_asked_as_in_mitaka(manager):
    [chosen] = manager.select_destinations(
        CONTEXT, spec_obj=requests.a_request())

    assert (chosen['host'], chosen['nodename']) == ('a', 'a')


def test_it_is_asked_as_in_queens(manager):
    [chosen] = manager.select_destinations(
        CONTEXT, spec_obj=requests.a_request(), instance_uuids=[a_uuid()],
        return_objects=True, return_alternates=True)

    assert [one.service_host for one in chosen] == ['a', 'b']


def test_what_finds_no_host_is_told_as_over_rpc(manager):
    with pytest.raises(messaging.ExpectedException) as caught:
        manager.select_destinations(CONTEXT, spec_obj=requests.a_request(
            memory_mb=1 << 30))

    assert isinstance(caught.value.exc_info[1], exception.NoValidHost)


def test_it_takes_the_news_of_nova_s_other_services(manager):
    manager.update_aggregates(CONTEXT, [])
    manager.delete_aggregate(CONTEXT, None)
    manager.update_instance_info(CONTEXT, 'a', [])
    manager.delete_instance_info(CONTEXT, 'a', a_uuid())
    manager.sync_instance_info(CONTEXT, 'a', [])


def test_a_reset_has_cells_and_aggregates_read_again(manager, monkeypatch):
    forgotten = []
    monkeypatch.setattr(manager.driver.host_manager, 'forget_aggregates',
                        lambda: forgotten.append(True))
    manager.reset()

    assert forgotten == [True]


def test_it_has_the_driver_s_periodic_work_done(manager, monkeypatch):
    told = []
    monkeypatch.setattr(manager.driver, 'run_periodic_tasks', told.append)
    manager._run_periodic_tasks(CONTEXT)

    assert told == [CONTEXT]
