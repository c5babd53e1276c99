"""Classes that make the calls which articles on Kilo and Queens show.

They are in tests/data/document_classes.py.
"""

import logging
import sys

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.compat import current_hosts
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.context import RequestContext
from nova_sched.observe import notifications as observe
from nova_sched.scheduler import loading
from tests.builders import http_placement
from tests.builders import notifications
from tests.builders import requests
from tests.builders import rules
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.services import wait_for
from tests.unit.compat.test_nova_drivers import DATA
from tests.unit.compat.test_nova_drivers import ask
from tests.unit.compat.test_nova_drivers import claimed

A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)
NAMES = 'document_classes'


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    monkeypatch.syspath_prepend(DATA)
    yield
    sys.modules.pop(NAMES, None)
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def placement():
    with http_placement.offering(A, B) as server:
        yield server


@pytest.fixture
def manager(cloud, placement, tmp_path, request):
    """Function: the RPC endpoint before a driver and a host manager.

    Host a has most memory free, c none.
    """
    cloud.load_nodes(*(
        a_compute_node(host, uuid=uuid, memory_mb=size, free_ram_mb=size)
        for host, uuid, size in zip('abc', (A, B, C), (90000, 4096, 1),
                                    strict=True)))

    def manager(driver='filter_scheduler', host_manager=None, asks=True,
                **options):
        path = tmp_path / 'nova.conf'
        path.write_text(
            '[DEFAULT]\nhost = here\ntransport_url = fake://\n'
            f'control_exchange = {tmp_path}\n' + ''.join(
                f'{name} = {value}\n' for name, value in options.items())
            + f'[database]\nconnection = {cloud.url}\n'
            '[oslo_messaging_notifications]\ndriver = messagingv2\n'
            '[scheduler]\ndriver = '
            + (f'{NAMES}.{driver}\n' if driver[0].isupper()
               else f'{driver}\n')
            + (f'host_manager = {NAMES}.{host_manager}\n'
               if host_manager else '')
            + ('[placement]\nauth_type = none\n'
               f'endpoint_override = {placement.url}\n' if asks else ''))
        conf = config.new_conf([], [str(path)])
        made = loading.load_driver(conf)
        made.start()
        told = observe.Notifications(conf)
        told.configure()
        request.addfinalizer(told.stop)
        return door(made, conf=conf, notifications=told)
    return manager


class TestNotifications:
    """One start and one end for a request, whoever tells."""

    @pytest.mark.parametrize('driver', [
        'QueensScheduler', 'QueensLoop', 'KiloScheduler'])
    def test_are_sent_once(self, manager, driver):
        endpoint = manager(driver)
        with notifications.consumer(endpoint.driver.conf) as consumer:
            ask(endpoint)
            wait_for(lambda: len(consumer.heard) == 2)

        assert [event for _, event in consumer.events()] == ['start', 'end']


class TestKilo:
    @pytest.mark.parametrize('driver', ['KiloScheduler', 'MakingScheduler'])
    @pytest.mark.parametrize('host_manager', [None, 'KiloHostManager'])
    def test_a_loop_of_ones_own_answers_with_limits(self, manager, driver,
                                                    host_manager):
        endpoint = manager(driver, host_manager, asks=False,
                           scheduler_default_filters='RamFilter')

        [found] = endpoint.select_destinations(
            RequestContext(), instance_uuids=[a_uuid()],
            spec_obj=requests.a_request().obj_to_primitive())

        assert (found['host'], found['limits']) == (
            'a', {'memory_mb': 90000.0})

    @pytest.mark.parametrize('driver', [
        'filter_scheduler', 'KiloScheduler', 'MakingScheduler'])
    @pytest.mark.parametrize('host_manager', [
        'KiloHostManager', 'MappingHostManager'])
    def test_a_host_manager_runs_filters_and_weighers(self, manager, driver,
                                                      host_manager):
        endpoint = manager(driver, host_manager, asks=False)

        assert ask(endpoint)[0][0] == 'a'

    def test_a_host_manager_has_the_hosts_of_a_request_by_name(
            self, manager):
        endpoint = manager('KiloScheduler', 'MappingHostManager', asks=False)

        assert [ask(endpoint) for _ in range(2)] == [[['a']], [['a']]]
        with pytest.raises(current_hosts.NoCurrentHosts):
            endpoint.driver.host_manager.host_state_map  # noqa: B018

    def test_a_driver_makes_the_host_manager_that_is_configured(
            self, manager):
        made = manager('MakingScheduler', 'KiloHostManager', asks=False)

        assert type(made.driver.host_manager).__name__ == 'KiloHostManager'

    def test_unset_options_have_their_defaults(self, manager):
        manager()

        assert nova_conf.CONF.scheduler_default_filters
        assert nova_conf.CONF.scheduler_available_filters == [
            'nova.scheduler.filters.all_filters']
        assert nova_conf.CONF.scheduler_host_subset_size == 1

    def test_all_wrong_filters_are_named(self, manager):
        made = manager('KiloScheduler', 'KiloHostManager', asks=False)
        chooser = made.driver.host_manager

        with pytest.raises(exception.NovaSchedException,
                           match='NoFilter, NoneFilter'):
            chooser._choose_host_filters(
                ['RamFilter', 'NoFilter', 'NoneFilter'])


class TestQueens:
    def test_a_loop_of_ones_own_claims(self, manager, placement):
        endpoint = manager('QueensLoop')

        assert ask(endpoint) == [['a', 'b']]
        assert ask(endpoint, 2) == [['a'], ['b']]
        assert claimed(placement) == [A, A, B]

    def test_a_loop_without_placement_takes_nova_s_other_one(self, manager):
        assert ask(manager('QueensLoop', asks=False))[0][0] == 'a'

    def test_what_is_selected_is_told_at_debug(self, manager, caplog):
        caplog.set_level(logging.DEBUG)
        ask(manager('QueensLoop'))

        assert len([line for line in caplog.messages
                    if line.startswith('Selected host: ')]) == 1

    @pytest.mark.parametrize('driver', ['filter_scheduler', 'QueensLoop'])
    def test_a_host_manager_makes_the_states_of_hosts(self, manager, driver):
        assert ask(manager(driver, 'QueensHostManager'))[0][0] == 'a'


class TestOtherDrivers:
    @pytest.mark.parametrize('host_manager', [None, 'IronManager'])
    @pytest.mark.parametrize(('driver', 'hosts'), [
        ('QueensCaching', 'a'), ('MitakaChance', 'abc'),
        ('KiloChance', 'abc')])
    def test_may_be_derived_from(self, manager, driver, hosts, host_manager):
        endpoint = manager(driver, host_manager)
        endpoint.driver.run_periodic_tasks(RequestContext())

        [chosen] = ask(endpoint)

        assert chosen[0] in hosts


class TestHostManagers:
    def test_a_mistyped_filter_is_not_the_host_managers_fault(self, manager):
        with pytest.raises(exception.ConfigurationError,
                           match=r'enabled_filters.*no such filter'):
            manager('filter_scheduler', 'IronManager',
                    scheduler_default_filters='RamFilter,Nope')


class TestNames:
    def test_the_filter_scheduler_is_one_of_nova_s_drivers(self):
        nova_names.provide(rules.a_conf())
        from nova.scheduler import driver
        from nova.scheduler import filter_scheduler

        assert issubclass(filter_scheduler.FilterScheduler, driver.Scheduler)

    def test_a_client_is_made_without_arguments(self, manager):
        manager()
        from nova.scheduler import rpcapi

        assert rpcapi.SchedulerAPI()
