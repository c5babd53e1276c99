"""Overrides of Nova's host manager are called, and their results count.

They are in tests/data/row_plug_ins.py, or in the test.
"""

import pytest

from nova_sched import exception
from nova_sched.compat.row_api import driver as row_api
from nova_sched.compat.row_api import nova_host_manager
from nova_sched.scheduler import loading
from nova_sched.scheduler.attempt import SchedulingAttempt
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import an_aggregate
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request
from tests.builders.row_api import answered
from tests.builders.row_api import ask
from tests.builders.rules import configured
from tests.unit.compat import conftest


@pytest.mark.parametrize(('manager', 'memory_mb', 'chosen', 'calls'), [
    ('KiloManager', 512, 'c', ['get_all_host_states', 'get_filtered_hosts',
                               'get_weighed_hosts']),
    # Built-in filters run on the hosts that its methods leave.
    ('KiloManager', 8000, 'a', None),
    ('DocumentedManager', 512, 'b', ['get_filtered_hosts',
                                     'get_weighed_hosts']),
    ('HandlingManager', 99999, 'b', ['get_filtered_objects',
                                     'get_weighed_objects']),
    # Half of b's 16384 MB.
    ('RackManager', 8192, 'b', None), ('RackManager', 8193, None, None)])
def test_overrides_decide(a_driver, plug_ins, manager, memory_mb, chosen,
                          calls):
    driver, flavor = a_driver(manager=manager), a_flavor(memory_mb=memory_mb)

    if chosen is None:
        with pytest.raises(exception.NoValidHost):
            ask(driver, flavor=flavor)
    else:
        assert ask(driver, flavor=flavor) == [[chosen]]
    assert calls in (None, plug_ins.CALLS)


def test_record_has_their_weights_and_the_hosts_they_removed(a_driver):
    chosen, record = answered(a_driver(manager='KiloManager'))

    assert chosen == ['c']
    assert [pick.weight for pick in record.picks] == [float(ord('c'))]
    assert [(step.name, step.before, step.after)
            for step in record.funnel.steps] == [
        ('get_all_host_states', 3, 2), ('RamFilter', 2, 2),
        ('ComputeFilter', 2, 2)]


def test_reasons_name_the_override(a_driver):
    with pytest.raises(exception.NoValidHost) as refused:
        ask(a_driver(manager='KiloManager'), flavor=a_flavor(memory_mb=9000))

    assert '2 RamFilter (' in str(refused.value)
    assert '1 get_all_host_states' in str(refused.value)


def test_ocata_manager_decides_for_instances_and_alternates(a_driver):
    assert ask(a_driver(manager='OcataManager'), 3) == [['b'], ['b'], ['b']]
    driver = a_driver(manager='OcataManager')
    assert ask(driver, alternates=True) == [['b', 'a']]


def test_other_requests_picks_count(a_driver):
    driver, flavor = a_driver(manager='OcataManager'), a_flavor(
        memory_mb=8192)

    assert [ask(driver, flavor=flavor) for _ in range(3)] == [
        [['b']], [['a']], [['b']]]


@pytest.mark.parametrize('driver', [None, 'StepsScheduler'])
def test_host_states_are_of_its_class(a_driver, plug_ins, driver):
    driver = a_driver(driver, 'RackManager')

    assert ask(driver, 2, flavor=a_flavor(memory_mb=3072)) == [['b'], ['b']]
    assert sorted(driver.host_manager.seen) == [('A', 4096), ('B', 5120)]
    assert '_update_from_compute_node' in plug_ins.CALLS
    assert plug_ins.CALLS.count('consume_from_request') == 2


def test_steps_of_reading_hosts_are_called(a_driver, plug_ins):
    assert ask(a_driver(manager='MethodicalManager')) == [['b']]
    assert plug_ins.CALLS[:6] == [
        '_get_computes_for_cells', '_get_host_states', 'host_state_cls',
        '_get_aggregates_info', '_update_from_compute_node', 'host_state_cls']


def test_built_in_filters_use_its_aggregates(cloud, a_driver):
    cloud.load_nodes(
        *(a_compute_node(host, free_ram_mb=free)
          for host, free in conftest.FREE.items()),
        aggregates=[an_aggregate(hosts=['b', 'c'], metadata={
            'availability_zone': 'east'})])
    driver = a_driver(
        manager='MethodicalManager',
        filter_scheduler__enabled_filters=['AvailabilityZoneFilter'])

    assert ask(driver, 1, True, availability_zone='east') == [['b']]


@pytest.mark.parametrize(('manager', 'memory_mb', 'filters', 'columns'), [
    ('ChoosyManager', 99999, ['ComputeFilter', 'AllHostsFilter'], True),
    ('SetManager', 512, ['DiskFilter'], False),
    ('KiloBornManager', 9000, ['RamFilter', 'ComputeFilter'], True)])
def test_its_filters_run(a_driver, manager, memory_mb, filters, columns):
    """On columns as long as all rules are of this service."""
    driver = a_driver(manager=manager)
    chosen, record = answered(driver, flavor=a_flavor(memory_mb=memory_mb))

    assert [step.name for step in record.funnel.steps] == filters
    assert not columns or (chosen, driver._make_attempt) == (
        ['b'], SchedulingAttempt)
    assert columns or not record.weighing.weighers


def test_constructor_of_the_base_class_need_not_be_called(a_driver):
    driver = a_driver(manager='UnmadeManager')

    assert driver.host_manager.racks == 3
    assert ask(driver) == [['b']]


def test_host_states_may_be_kept_between_requests(a_driver):
    driver = a_driver(manager='KeepingManager')

    assert [ask(driver) for _ in range(3)] == [[['b']]] * 3
    assert driver.host_manager.kept[0].hits == 3


@pytest.mark.parametrize('options', [
    {'manager': 'RackManager'},
    {'filter_scheduler__available_filters': [
        'nova.scheduler.filters.all_filters', 'row_plug_ins.HalvingFilter'],
     'filter_scheduler__enabled_filters': ['HalvingFilter', 'RamFilter']}])
def test_changed_attributes_last_for_one_request(a_driver, options):
    """The next request sees no change but the picks."""
    driver = a_driver(**options)

    for _ in range(3):
        assert ask(driver, flavor=a_flavor(memory_mb=2048)) == [['b']]
    with pytest.raises(exception.NoValidHost):
        ask(driver, flavor=a_flavor(memory_mb=5121))
    assert driver.host_manager.view().table.columns[
        'free_ram_mb'].tolist() == [8192, 16384 - 3 * 2048, 4096]


@pytest.mark.parametrize(('manager', 'match'), [
    ('AddingManager', "host 'z', node 'z', which does not exist"),
    ('NaughtyManager', "returned 'a', which is no HostState"),
    ('BreakingManager', 'no such rack')])
def test_wrong_result_fails_each_request(a_driver, manager, match):
    driver = a_driver(manager=manager)

    for _ in range(2):
        with pytest.raises(Exception, match=match):
            ask(driver)


def test_override_that_is_never_called_is_refused(a_driver):
    with pytest.raises(exception.ConfigurationError,
                       match='its _add_instance_info would never be'):
        a_driver(manager='LateManager')


def test_plain_driver_does_not_decide_by_rows(a_driver):
    assert not isinstance(a_driver(), row_api.RowApi)


def test_overrides_are_logged_at_start(a_driver, caplog):
    caplog.set_level('INFO')
    a_driver('StrictScheduler', 'OcataManager')

    assert ('Hosts are evaluated one HostState at a time, because a plug-in '
            'overrides StrictScheduler._ensure_sufficient_hosts, '
            'OcataManager.get_host_states_by_uuids') in caplog.messages


def test_entry_points_in_nova_s_namespaces_name_them(
        cloud, plug_ins, tmp_path, monkeypatch):
    info = tmp_path / 'rows-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: rows\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(
        '[nova.scheduler.driver]\n'
        'steps_scheduler = row_plug_ins:StepsScheduler\n'
        '[nova.scheduler.host_manager]\n'
        'ocata_manager = row_plug_ins:OcataManager\n')
    monkeypatch.syspath_prepend(tmp_path)

    driver = loading.load_driver(cloud.conf(
        scheduler__driver='steps_scheduler',
        scheduler__host_manager='ocata_manager'))

    assert isinstance(driver, plug_ins.StepsScheduler)
    assert isinstance(driver.host_manager, plug_ins.OcataManager)


class TestHostStates:
    """Classes of host states as in several releases."""

    @pytest.fixture
    def driver_of(self, a_driver, plug_ins):
        """Function: return a driver with a host manager of these members."""
        def driver_of(**members):
            plug_ins.Own = type('Own', (plug_ins.host_manager.HostManager,),
                                {**members, '__module__': 'row_plug_ins'})
            return a_driver(manager='Own')
        return driver_of

    def test_mitaka_s_have_no_cell(self, driver_of, plug_ins):
        def host_state_cls(self, host, node, **kwargs):
            assert kwargs['compute'].host == host
            return plug_ins.host_manager.HostState(host, node)

        assert ask(driver_of(host_state_cls=host_state_cls)) == [['b']]

    def test_kilo_s_class_takes_no_cell(self, driver_of, plug_ins):
        class State(plug_ins.host_manager.HostState):
            def __init__(self, host, node, compute=None):
                super().__init__(host, node, compute=compute)

        assert ask(driver_of(host_state_cls=State)) == [['b']]

    def test_all_hosts_may_stand_for_requested_uuids(self, driver_of):
        def get_host_states_by_uuids(self, context, compute_uuids, spec_obj):
            return (state for state in self.get_all_host_states(context)
                    if state.host != 'b')

        assert ask(driver_of(
            get_host_states_by_uuids=get_host_states_by_uuids)) == [['a']]

    def test_kilo_s_methods_are_called(self, driver_of, plug_ins):
        """They have other names than Mitaka's, which do not call them."""
        class State(plug_ins.host_manager.HostState):
            def update_from_compute_node(self, compute):
                super().update_from_compute_node(compute)
                if compute.host == 'b':
                    self.free_ram_mb = 9000

            def update_service(self, service):
                super().update_service(service)
                self.rack = service['host']

            def consume_from_instance(self, instance):
                super().consume_from_instance(instance)
                self.free_ram_mb -= 2 * instance['memory_mb']
                assert self.rack == self.host

        driver = driver_of(host_state_cls=lambda self, host, node, **kwargs:
                           State(host, node))

        assert ask(driver, 3, flavor=a_flavor(memory_mb=2000)) == [
            ['b'], ['a'], ['c']]

    def test_fractional_amounts_are_truncated(self, driver_of, plug_ins):
        """Three tenths of 16384 MB are 4915.2."""
        class State(plug_ins.host_manager.HostState):
            def _update_from_compute_node(self, compute):
                super()._update_from_compute_node(compute)
                self.free_ram_mb = compute.free_ram_mb * 0.3

        driver = driver_of(host_state_cls=State)

        assert ask(driver, 2, flavor=a_flavor(memory_mb=2457)) == [
            ['b'], ['b']]
        with pytest.raises(exception.NoValidHost, match='3 RamFilter'):
            ask(driver, flavor=a_flavor(memory_mb=4916))

    def test_filter_handler_sets_limits(self):
        """A driver that runs its own steps answers with them."""
        block = hosts(a_host(), a_host(free_ram_mb=-20000))

        [state] = nova_host_manager.FilterHandler().get_filtered_objects(
            [configured(RamFilter)], block.states(), a_request())

        assert state.limits == {'memory_mb': 49152}
