"""Loading the driver that an option names."""

import itertools

import pytest

from nova_sched import exception
from nova_sched.hosts import columns
from nova_sched.hosts import decision
from nova_sched.hosts import plain
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import chance
from nova_sched.scheduler import driver
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler import filters
from nova_sched.scheduler import loading
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules

FILTER = filter_scheduler.FilterScheduler
CACHING = caching_scheduler.CachingScheduler
CHANCE = chance.ChanceScheduler


class ThirdPartyScheduler(driver.Scheduler):
    """The least that a plug-in must have."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        return []


class UnfinishedScheduler(driver.Scheduler):
    """Lacks its only method."""


class ImpossibleScheduler(ThirdPartyScheduler):
    """Cannot be made."""

    def __init__(self, conf):
        super().__init__(conf)
        raise FileNotFoundError('/etc/racks.yaml')


class StrangeScheduler:
    """Not derived from Scheduler."""


NO_CLASS = 5


def loaded(cloud, name):
    return loading.load_driver(cloud.conf(scheduler__driver=name))


class TestNames:
    @pytest.mark.parametrize('name, cls', [
        ('filter_scheduler', FILTER), ('caching_scheduler', CACHING),
        ('chance_scheduler', CHANCE),
        ('nova.scheduler.filter_scheduler.FilterScheduler', FILTER),
        ('nova_sched.scheduler.filter_scheduler.FilterScheduler', FILTER),
        (f'{__name__}.ThirdPartyScheduler', ThirdPartyScheduler),
    ])
    def test_and_class_paths_lead_to_a_driver(self, cloud, name, cls):
        assert isinstance(loaded(cloud, name), cls)

    def test_default_to_the_filter_scheduler(self, cloud):
        assert type(loading.load_driver(cloud.conf())) is FILTER


class TestWrongNames:
    @pytest.mark.parametrize('name, hint', [
        ('filter_sheduler', 'no such driver; did you mean filter_scheduler?'),
        ('xyz', 'no such driver; choose from caching_scheduler, '
                'chance_scheduler, filter_scheduler'),
        ('nova.scheduler.filter_scheduler.FilterSheduler',
         'did you mean filter_scheduler?'),
        ('no_such_module.Driver', 'there is no module no_such_module; check'),
        (f'{__name__}.ThirdPartySheduler', 'did you mean '
         f'{__name__}.ThirdPartyScheduler?'),
        (f'{__name__}.NO_CLASS', 'is no driver'),
        (f'{__name__}.StrangeScheduler', 'is no driver; it must be a class '
         'derived from nova_sched.scheduler.driver.Scheduler'),
        (f'{__name__}.UnfinishedScheduler',
         'with a select_destinations method'),
        ('tests.unit.scheduler.broken_driver.Driver',
         "broken_driver failed: ZeroDivisionError('in the module')"),
        (f'{__name__}.ImpossibleScheduler',
         "cannot be set up: FileNotFoundError('/etc/racks.yaml')"),
    ])
    def test_are_refused_with_advice(self, cloud, name, hint):
        with pytest.raises(exception.ConfigurationError) as refused:
            loaded(cloud, name)

        assert str(refused.value).startswith(
            f'[scheduler] driver = {name!r}: ')
        assert hint in str(refused.value)

    @pytest.mark.parametrize('option, value', [
        ('scheduler__host_manager', 'no_such_manager'),
        ('enabled_filters', ['NoSuchFilter'])])
    def test_in_other_options_name_their_option(self, cloud, option, value):
        """Not as a driver that cannot be set up."""
        with pytest.raises(exception.ConfigurationError) as refused:
            loading.load_driver(cloud.conf(**{option: value}))

        assert refused.value.option.endswith(option.rpartition('__')[2])


class TestThirdParty:
    def test_driver_needs_no_more_than_one_method(self):
        """All other methods of the service have defaults."""
        made = ThirdPartyScheduler(rules.a_conf())

        made.start()
        made.take_over(ThirdPartyScheduler(rules.a_conf()))
        made.run_periodic_tasks(None)
        made.update_aggregates([])
        made.delete_aggregate(None)
        made.stop()

        assert (made.PERIODIC, made.ONE_PROCESS, made.WANTS_SUMMARIES,
                made.USES_ALLOCATION_CANDIDATES, made.NOTIFIES,
                made.host_count()) == (False, True, False, True, False, None)

    @pytest.mark.parametrize('uuids, count', [
        (None, 3), ([], 0), (['a'], 1), (['a', 'b', 'c', 'd'], 4)])
    def test_driver_can_ask_how_many_instances_are_wanted(self, uuids, count):
        spec = requests.a_request(num_instances=3)

        assert ThirdPartyScheduler.count(spec, uuids) == count


@pytest.mark.parametrize('name', [
    'filter_scheduler', 'caching_scheduler', 'chance_scheduler'])
def test_host_count_is_the_number_of_the_last_read(cloud, name):
    cloud.load(3)

    assert cloud.driver(name).host_count() == 3


class WatchingScheduler(filter_scheduler.FilterScheduler):
    """A plug-in that may look at services."""


class RackFilter(filters.BaseHostFilter):
    """A third party's."""

    def host_passes(self, host_state, filter_properties):
        return True


@pytest.mark.parametrize('name, filters, are_read', [
    ('filter_scheduler', ['ComputeFilter'], False),
    ('filter_scheduler', ['JsonFilter'], True),
    ('filter_scheduler', ['RackFilter'], True),
    ('chance_scheduler', ['JsonFilter'], False),
    ('caching_scheduler', ['ComputeFilter'], True),
    (f'{__name__}.WatchingScheduler', ['ComputeFilter'], True)])
def test_heartbeats_are_read_for_plug_ins(cloud, name, filters, are_read):
    """There are a thousand a second in a cloud of ten thousand hosts."""
    cloud.load(['a', 'b'])
    manager = cloud.driver(
        name, filter_scheduler__enabled_filters=filters,
        filter_scheduler__available_filters=[
            'nova.scheduler.filters.all_filters',
            f'{__name__}.RackFilter']).host_manager
    before = manager.view(()).table.columns['service']
    cloud.execute("UPDATE services SET last_seen_up = "
                  "datetime('now', '+5 seconds')")
    manager.refresh()
    after = manager.view(()).table.columns['service']
    assert (after is not before) == are_read


@pytest.mark.parametrize('name', ['filter_scheduler', 'caching_scheduler'])
def test_tables_of_decisions_differ_in_consumed_rows_only(cloud, name):
    """So kept records do not grow with the cloud."""
    cloud.load(['a', 'b', 'c'])
    scheduler, tables = cloud.driver(name), []
    for number in range(4):
        record = decision.Decision()
        drivers.select(scheduler, requests.a_request(),
                       [clouds.a_uuid(number)], record=record)
        tables.append(record.state.table)

    for before, after in itertools.pairwise(tables):
        changed = plain.differences([before, after])
        assert changed
        assert changed.keys() <= set(columns.CONSUMED)
        assert all(len(rows) == 1 for _, rows, _ in changed.values())
