"""Classes that make the calls which articles on Kilo and Queens show.

They are in tests/data/document_classes.py.
"""

import functools
import logging

import pytest

from nova_sched import exception
from nova_sched.compat import current_hosts
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.context import RequestContext
from tests.builders import notifications
from tests.builders import requests
from tests.builders.clouds import a_uuid
from tests.builders.services import wait_for
from tests.unit.compat.conftest import A
from tests.unit.compat.conftest import B
from tests.unit.compat.conftest import ask
from tests.unit.compat.conftest import claimed

NAMES = 'document_classes'
KILO_LOOPS = 'KiloScheduler', 'MakingScheduler'


@pytest.fixture
def memory_mb():
    """Host a has most memory, c none."""
    return 90000, 4096, 1


@pytest.fixture
def endpoint(manager):
    """Function: return the RPC endpoint of a driver and a host manager."""
    def endpoint(driver='filter_scheduler', host_manager='host_manager',
                 **options):
        driver, host_manager = (
            f'{NAMES}.{name}' if name[0].isupper() else name
            for name in (driver, host_manager))
        return manager(driver, host_manager=host_manager, **options)
    return endpoint


@pytest.fixture
def kilo(endpoint):
    """The same without Placement."""
    return functools.partial(endpoint, has_placement=False)


@pytest.mark.parametrize('driver', [
    'QueensScheduler', 'QueensLoop', 'KiloScheduler'])
def test_a_request_has_one_start_and_one_end_notification(endpoint, driver):
    """From the driver, and not also from the service."""
    door = endpoint(driver, sends=True)
    with notifications.consumer(door.driver.conf) as consumer:
        ask(door)
        wait_for(lambda: len(consumer.heard) == 2)

    assert [event for _, event in consumer.events()] == ['start', 'end']


class TestKilo:
    @pytest.mark.parametrize('driver', KILO_LOOPS)
    @pytest.mark.parametrize('host_manager', [
        'host_manager', 'KiloHostManager'])
    def test_own_loop_answers_with_limits(self, kilo, driver, host_manager):
        door = kilo(driver, host_manager,
                    scheduler_default_filters='RamFilter')

        [answer] = door.select_destinations(
            RequestContext(), instance_uuids=[a_uuid()],
            spec_obj=requests.a_request().obj_to_primitive())

        assert (answer['host'], answer['limits']) == (
            'a', {'memory_mb': 90000.0})
        assert host_manager in (type(door.driver.host_manager).__name__,
                                'host_manager')

    @pytest.mark.parametrize('driver', ['filter_scheduler', *KILO_LOOPS])
    @pytest.mark.parametrize('host_manager', [
        'KiloHostManager', 'MappingHostManager'])
    def test_host_manager_runs_filters_and_weighers(self, kilo, driver,
                                                    host_manager):
        assert ask(kilo(driver, host_manager))[0][0] == 'a'

    def test_host_state_map_has_the_hosts_of_the_request(self, kilo):
        door = kilo('KiloScheduler', 'MappingHostManager')

        assert [ask(door) for _ in range(2)] == [[['a']], [['a']]]
        with pytest.raises(current_hosts.NoCurrentHosts):
            door.driver.host_manager.host_state_map  # noqa: B018

    def test_unset_options_have_their_defaults(self, kilo):
        kilo()

        assert nova_conf.CONF.scheduler_default_filters
        assert nova_conf.CONF.scheduler_available_filters == [
            'nova.scheduler.filters.all_filters']
        assert nova_conf.CONF.scheduler_host_subset_size == 1

    def test_all_unknown_filters_are_named(self, kilo):
        host_manager = kilo(host_manager='KiloHostManager'
                            ).driver.host_manager

        with pytest.raises(exception.NovaSchedException,
                           match='NoFilter, NoneFilter'):
            host_manager._choose_host_filters(
                ['RamFilter', 'NoFilter', 'NoneFilter'])


class TestQueens:
    def test_own_loop_claims(self, endpoint, placement, caplog):
        """And logs each selected host."""
        caplog.set_level(logging.DEBUG)
        door = endpoint('QueensLoop')

        assert ask(door) == [['a', 'b']]
        assert len([line for line in caplog.messages
                    if line.startswith('Selected host: ')]) == 1
        assert ask(door, 2) == [['a'], ['b']]
        assert claimed(placement) == [A, A, B]

    @pytest.mark.parametrize(('driver', 'host_manager', 'has_placement'), [
        ('QueensLoop', 'host_manager', False),
        ('filter_scheduler', 'QueensHostManager', True),
        ('QueensLoop', 'QueensHostManager', True)])
    def test_loop_and_host_manager_select_the_best_host(
            self, endpoint, driver, host_manager, has_placement):
        """Without Placement by Nova's _legacy_find_hosts."""
        assert ask(endpoint(driver, host_manager,
                            has_placement=has_placement))[0][0] == 'a'


@pytest.mark.parametrize('host_manager', ['host_manager', 'IronManager'])
@pytest.mark.parametrize(('driver', 'hosts'), [
    ('QueensCaching', 'a'), ('MitakaChance', 'abc'), ('KiloChance', 'abc')])
def test_other_drivers_of_nova_may_be_base_classes(endpoint, driver, hosts,
                                                   host_manager):
    door = endpoint(driver, host_manager)
    door.driver.run_periodic_tasks(RequestContext())

    assert ask(door)[0][0] in hosts


def test_mistyped_filter_is_an_error_of_its_option(endpoint):
    """And not of the host manager that loads it."""
    with pytest.raises(exception.ConfigurationError,
                       match=r'enabled_filters.*no such filter'):
        endpoint(host_manager='IronManager',
                 scheduler_default_filters='RamFilter,Nope')
