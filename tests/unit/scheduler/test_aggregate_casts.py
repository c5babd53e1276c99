"""Casts of Nova's API about aggregates: the next request reads them anew."""

import pytest

from nova_sched import context
from nova_sched import objects
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests

CONTEXT = context.RequestContext()
SEEN = clouds.an_aggregate(1, ['a'], metadata={'kind': 'seen'})
STAMPED = ('aggregates', 'aggregate_hosts', 'aggregate_metadata',
           'host_mappings', 'cell_mappings')
CASTS = {
    'update_aggregates': lambda door: door.update_aggregates(
        CONTEXT, [objects.Aggregate(id=1)]),
    'delete_aggregate': lambda door: door.delete_aggregate(
        CONTEXT, objects.Aggregate(id=1))}


@pytest.fixture
def driver(cloud):
    """A driver that has read an aggregate, which changed since.

    No time stamp tells of it, and those that there are have settled.
    """
    cloud.load(['a'], aggregates=[SEEN])
    for table in STAMPED:
        cloud.execute(f"UPDATE {table} SET updated_at = NULL, "
                      "created_at = '2020-01-01 00:00:00'")
    made = cloud.driver()
    assert kinds(made) == kinds_for_placement(made) == ['seen']
    cloud.execute("UPDATE aggregate_metadata SET value = 'changed'")
    return made


def kinds(driver):
    """What hosts' aggregates say, as the next request sees it: list."""
    drivers.select(driver, requests.a_request())
    [aggregates] = driver.host_manager.view().table.columns[
        'aggregates'].items()
    return [aggregate.metadata['kind'] for aggregate in aggregates]


def kinds_for_placement(driver):
    """The same, for the filters of what Placement is asked."""
    return [aggregate.metadata['kind']
            for aggregate in driver.host_manager.aggregates()]


def test_without_a_cast_such_a_change_is_not_seen_at_once(driver):
    assert kinds(driver) == kinds_for_placement(driver) == ['seen']


@pytest.mark.parametrize('cast', CASTS)
def test_after_a_cast_hosts_are_in_the_aggregates_as_they_are(driver, cast):
    CASTS[cast](drivers.door(driver))

    assert kinds(driver) == ['changed']


@pytest.mark.parametrize('cast', CASTS)
def test_after_a_cast_placement_is_asked_about_aggregates_as_they_are(
        driver, cast):
    CASTS[cast](drivers.door(driver))

    assert kinds_for_placement(driver) == ['changed']
