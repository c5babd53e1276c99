"""Casts of Nova's API about aggregates: the next request reads them again."""

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

    No time stamp shows the change.
    """
    cloud.load(['a'], aggregates=[SEEN])
    for table in STAMPED:
        cloud.execute(f"UPDATE {table} SET updated_at = NULL, "
                      "created_at = '2020-01-01 00:00:00'")
    made = cloud.driver()
    assert kinds(made) == kinds_for_placement(made) == ['seen']
    cloud.execute("UPDATE aggregate_metadata SET value = 'changed'")
    assert kinds(made) == kinds_for_placement(made) == ['seen']
    return made


def kinds(driver):
    """Metadata of hosts' aggregates in the next request: list."""
    drivers.select(driver, requests.a_request())
    [aggregates] = driver.host_manager.view().table.columns[
        'aggregates'].items()
    return [aggregate.metadata['kind'] for aggregate in aggregates]


def kinds_for_placement(driver):
    """The same for request filters."""
    return [aggregate.metadata['kind']
            for aggregate in driver.host_manager.aggregates()]


@pytest.mark.parametrize('cast', CASTS)
def test_a_cast_has_aggregates_read_again(driver, cast):
    CASTS[cast](drivers.door(driver))

    assert kinds(driver) == kinds_for_placement(driver) == ['changed']
