"""Which driver an option names."""

import pytest

from nova_sched import exception
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import chance
from nova_sched.scheduler import driver
from nova_sched.scheduler import filter_scheduler
from tests.builders import requests
from tests.builders import rules

FILTER = filter_scheduler.FilterScheduler
CACHING = caching_scheduler.CachingScheduler
CHANCE = chance.ChanceScheduler


class ThirdPartyScheduler(driver.Scheduler):
    """All it has to write."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        return []


class UnfinishedScheduler(driver.Scheduler):
    """Lacks its only method."""


class StrangeScheduler:
    """Derives from nothing."""


NO_CLASS = 5


def loaded(cloud, name):
    return driver.load_driver(cloud.conf(scheduler__driver=name))


class TestNames:
    @pytest.mark.parametrize('name, cls', [
        ('filter_scheduler', FILTER), ('caching_scheduler', CACHING),
        ('chance_scheduler', CHANCE),
        ('nova.scheduler.filter_scheduler.FilterScheduler', FILTER),
        ('nova.scheduler.caching_scheduler.CachingScheduler', CACHING),
        ('nova.scheduler.chance.ChanceScheduler', CHANCE),
        ('nova_sched.scheduler.filter_scheduler.FilterScheduler', FILTER),
        (f'{__name__}.ThirdPartyScheduler', ThirdPartyScheduler),
    ])
    def test_and_class_paths_lead_to_a_driver(self, cloud, name, cls):
        assert type(loaded(cloud, name)) is cls

    def test_of_the_default_is_the_filter_scheduler(self, cloud):
        assert type(driver.load_driver(cloud.conf())) is FILTER

    def test_of_installed_drivers_can_be_listed(self):
        assert driver.driver_names() == [
            'caching_scheduler', 'chance_scheduler', 'filter_scheduler']


class TestWrongNames:
    @pytest.mark.parametrize('name, hint', [
        ('filter_sheduler', 'no such driver; did you mean filter_scheduler?'),
        ('FILTER_SCHEDULER', 'did you mean filter_scheduler?'),
        ('xyz', 'no such driver; choose from caching_scheduler, '
                'chance_scheduler, filter_scheduler'),
        ('nova.scheduler.filter_scheduler.FilterSheduler',
         'did you mean filter_scheduler?'),
        ('nova.scheduler.fake.Driver', 'no such driver; choose from'),
        ('no_such_module.Driver', "No module named 'no_such_module'"),
        (f'{__name__}.NoSuchClass', 'cannot be imported'),
        (f'{__name__}.NO_CLASS', 'is no driver'),
        ('json.decoder', 'is no driver'),
        (f'{__name__}.StrangeScheduler', 'is no driver; it must be a class '
         'derived from nova_sched.scheduler.driver.Scheduler'),
        (f'{__name__}.UnfinishedScheduler',
         'with a select_destinations method'),
        ('tests.unit.scheduler.broken_driver.Driver',
         "cannot be imported (ZeroDivisionError('in the module')"),
    ])
    def test_stop_with_what_is_wrong_and_what_to_write(self, cloud, name,
                                                       hint):
        with pytest.raises(exception.ConfigurationError) as refused:
            loaded(cloud, name)

        assert str(refused.value).startswith(
            f'[scheduler] driver = {name!r}: ')
        assert hint in str(refused.value)


class TestThirdParty:
    def test_driver_needs_no_more_than_one_method(self):
        """The rest of what the service calls is there already."""
        made = ThirdPartyScheduler(rules.a_conf())

        made.start()
        made.take_over(ThirdPartyScheduler(rules.a_conf()))
        made.run_periodic_tasks(None)
        made.update_aggregates([])
        made.delete_aggregate(None)
        made.stop()

        assert not made.PERIODIC

    @pytest.mark.parametrize('uuids, count', [
        (None, 3), ([], 0), (['a'], 1), (['a', 'b', 'c', 'd'], 4)])
    def test_driver_can_ask_how_many_instances_are_wanted(self, uuids,
                                                          count):
        spec = requests.a_request(num_instances=3)

        assert ThirdPartyScheduler.count(spec, uuids) == count
