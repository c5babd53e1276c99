"""Overrides of Nova's host manager are called, and their answers count.

They are in tests/data/row_plug_ins.py.
"""


import pytest

from nova_sched import exception
from nova_sched.compat.row_api import driver as row_api
from nova_sched.scheduler import loading
from nova_sched.scheduler.attempt import SchedulingAttempt
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import an_aggregate
from tests.builders.requests import a_flavor
from tests.builders.row_api import answered
from tests.builders.row_api import ask
from tests.unit.compat import conftest


class TestOfAHostManager:
    def test_those_of_kilo_are_called_in_its_forms(self, a_driver, plug_ins):
        driver = a_driver(manager='KiloManager')

        assert ask(driver) == [['c']]
        assert plug_ins.CALLS == ['get_all_host_states',
                                  'get_filtered_hosts', 'get_weighed_hosts']

    def test_built_in_filters_judge_what_is_left(self, a_driver):
        driver = a_driver(manager='KiloManager')

        assert ask(driver, flavor=a_flavor(memory_mb=8000)) == [['a']]

    def test_the_record_has_their_weights_and_what_they_took(self, a_driver):
        hosts, record = answered(a_driver(manager='KiloManager'))

        assert hosts == ['c']
        assert [pick.weight for pick in record.picks] == [float(ord('c'))]
        assert [(step.name, step.before, step.after)
                for step in record.funnel.steps] == [
            ('get_all_host_states', 3, 2), ('RamFilter', 2, 2),
            ('ComputeFilter', 2, 2)]

    def test_nobody_is_left_for_reasons_that_are_told(self, a_driver):
        driver = a_driver(manager='KiloManager')

        with pytest.raises(exception.NoValidHost) as refused:
            ask(driver, flavor=a_flavor(memory_mb=9000))

        assert '2 RamFilter (' in str(refused.value)
        assert '1 get_all_host_states' in str(refused.value)

    def test_those_of_documents_are_given_the_context(
            self, a_driver, plug_ins):
        assert ask(a_driver(manager='DocumentedManager')) == [['b']]
        assert plug_ins.CALLS == ['get_filtered_hosts', 'get_weighed_hosts']

    def test_that_of_ocata_is_given_what_it_takes(self, a_driver, plug_ins):
        assert ask(a_driver(manager='OcataManager'), 3) == [
            ['b'], ['b'], ['b']]
        assert ask(a_driver(manager='OcataManager'), alternates=True) == [
            ['b', 'a']]

    @pytest.mark.parametrize('driver', [None, 'StepsScheduler'])
    def test_host_states_are_of_its_class(self, a_driver, plug_ins, driver):
        driver = a_driver(driver, 'RackManager')

        assert ask(driver, 2, flavor=a_flavor(memory_mb=3072)) == [
            ['b'], ['b']]
        assert sorted(driver.host_manager.seen) == [('A', 4096), ('B', 5120)]
        assert '_update_from_compute_node' in plug_ins.CALLS
        assert plug_ins.CALLS.count('consume_from_request') == 2

    def test_built_ins_judge_by_what_host_states_say(self, a_driver):
        """Half of 16384 MB are b's."""
        driver = a_driver(manager='RackManager')

        assert ask(driver, flavor=a_flavor(memory_mb=8192)) == [['b']]
        with pytest.raises(exception.NoValidHost):
            ask(driver, flavor=a_flavor(memory_mb=8193))

    def test_the_parts_of_reading_hosts_are_asked(self, a_driver, plug_ins):
        driver = a_driver(manager='MethodicalManager')

        assert ask(driver) == [['b']]
        assert plug_ins.CALLS[:6] == [
            '_get_computes_for_cells', '_get_host_states', 'host_state_cls',
            '_get_aggregates_info', '_update_from_compute_node',
            'host_state_cls']

    def test_built_ins_judge_by_its_aggregates(self, cloud, a_driver):
        cloud.load_nodes(
            *(a_compute_node(host, free_ram_mb=free)
              for host, free in conftest.FREE.items()),
            aggregates=[an_aggregate(hosts=['b', 'c'], metadata={
                'availability_zone': 'east'})])
        driver = a_driver(
            manager='MethodicalManager',
            filter_scheduler__enabled_filters=['AvailabilityZoneFilter'])

        assert ask(driver, 1, True, availability_zone='east') == [['b']]

    def test_the_filters_that_it_loads_run(self, a_driver, plug_ins):
        driver = a_driver(manager='ChoosyManager')
        hosts, record = answered(driver, flavor=a_flavor(memory_mb=99999))

        assert hosts == ['b']
        assert [step.name for step in record.funnel.steps] == [
            'ComputeFilter', 'AllHostsFilter']

    def test_the_filters_that_it_sets_run(self, a_driver):
        _, record = answered(a_driver(manager='SetManager'))

        assert [step.name for step in record.funnel.steps] == ['DiskFilter']
        assert not record.weighing.weighers

    def test_naming_filters_keeps_the_columns(self, a_driver):
        assert a_driver(
            manager='ChoosyManager')._make_attempt is SchedulingAttempt

    def test_it_may_make_all_itself(self, a_driver):
        """What is made of this service's classes keeps the columns."""
        driver = a_driver(manager='KiloBornManager')
        hosts, record = answered(driver, flavor=a_flavor(memory_mb=9000))

        assert (hosts, driver._make_attempt) == (['b'], SchedulingAttempt)
        assert [step.name for step in record.funnel.steps] == [
            'RamFilter', 'ComputeFilter']

    def test_it_need_not_make_what_it_derives_from(self, a_driver):
        driver = a_driver(manager='UnmadeManager')

        assert driver.host_manager.racks == 3
        assert ask(driver) == [['b']]

    def test_its_handlers_are_asked(self, a_driver, plug_ins):
        driver = a_driver(manager='HandlingManager')

        assert ask(driver, flavor=a_flavor(memory_mb=99999)) == [['b']]
        assert plug_ins.CALLS == ['get_filtered_objects',
                                  'get_weighed_objects']

    def test_it_may_keep_its_host_states(self, a_driver):
        driver = a_driver(manager='KeepingManager')

        assert ask(driver) + ask(driver) + ask(driver) == [
            ['b'], ['b'], ['b']]
        assert driver.host_manager.kept[0].hits == 3

    def test_what_others_placed_counts(self, a_driver):
        driver = a_driver(manager='OcataManager')
        flavor = a_flavor(memory_mb=8192)

        assert ask(driver, flavor=flavor) + ask(driver, flavor=flavor) + ask(
            driver, flavor=flavor) == [['b'], ['a'], ['b']]

    @pytest.mark.parametrize('options', [
        {'manager': 'RackManager'},
        {'filter_scheduler__available_filters': [
            'nova.scheduler.filters.all_filters',
            'row_plug_ins.HalvingFilter'],
         'filter_scheduler__enabled_filters': [
             'HalvingFilter', 'RamFilter']}])
    def test_what_is_set_stays_with_its_request(self, a_driver, options):
        """What others have placed is all that the next one finds changed."""
        driver = a_driver(**options)

        for _ in range(3):
            assert ask(driver, flavor=a_flavor(memory_mb=2048)) == [['b']]
        with pytest.raises(exception.NoValidHost):
            ask(driver, flavor=a_flavor(memory_mb=5121))
        assert driver.host_manager.view().table.columns[
            'free_ram_mb'].tolist() == [8192, 16384 - 3 * 2048, 4096]

    @pytest.mark.parametrize(('manager', 'words'), [
        ('AddingManager', "host 'z', node 'z', which does not exist"),
        ('NaughtyManager', "returned 'a', which is no HostState"),
        ('BreakingManager', 'no such rack')])
    def test_a_wrong_answer_fails_its_request_alone(
            self, a_driver, caplog, manager, words):
        driver = a_driver(manager=manager)

        for _ in range(2):
            with pytest.raises(Exception, match=words):
                ask(driver)

    def test_what_is_set_and_never_asked_is_refused(self, a_driver):
        with pytest.raises(exception.ConfigurationError,
                           match='its _add_instance_info would never be'):
            a_driver(manager='LateManager')


def test_no_other_driver_knows_of_it(a_driver):
    assert not isinstance(a_driver(), row_api.RowApi)


def test_the_start_tells_of_it(a_driver, caplog):
    caplog.set_level('INFO')
    a_driver('StrictScheduler', 'OcataManager')

    assert ('Requests are decided host state by host state, because of '
            'StrictScheduler._ensure_sufficient_hosts, '
            'OcataManager.get_host_states_by_uuids') in caplog.messages


def test_an_installed_package_names_them_in_nova_s_namespaces(
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
