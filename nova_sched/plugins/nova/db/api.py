"""As ``nova.db.api``: the aggregates, of the hosts of the request.

No database is asked, and the contexts that are arguments are of no use. Rows
are objects.Aggregate, which answer as dicts, too; all functions may raise
at_hand.NothingAtHand.
"""

import collections

from nova_sched.objects.aggregate import AggregateList
from nova_sched.plugins.nova import exception

__all__ = (
    'aggregate_get', 'aggregate_get_all', 'aggregate_get_by_host',
    'aggregate_get_by_metadata_key', 'aggregate_host_get_all',
    'aggregate_metadata_get', 'aggregate_metadata_get_by_host',
    'aggregate_metadata_get_by_metadata_key',
)


def aggregate_get(context, aggregate_id):
    """The aggregate of that id.  Raises AggregateNotFound."""
    for aggregate in AggregateList.get_all(context):
        if aggregate.id == aggregate_id:
            return aggregate
    raise exception.AggregateNotFound(aggregate_id=aggregate_id)


def aggregate_get_all(context):
    """All aggregates: list."""
    return list(AggregateList.get_all(context))


def aggregate_get_by_host(context, host, key=None):
    """The aggregates of a host, those with a key of metadata: list."""
    return list(AggregateList.get_by_host(context, host, key))


def aggregate_get_by_metadata_key(context, key):
    """The aggregates with a key of metadata: list."""
    return list(AggregateList.get_by_metadata_key(context, key))


def aggregate_host_get_all(context, aggregate_id):
    """The names of an aggregate's hosts: list.  Raises AggregateNotFound."""
    return list(aggregate_get(context, aggregate_id).hosts)


def aggregate_metadata_get(context, aggregate_id):
    """An aggregate's metadata: dict of texts.  Raises AggregateNotFound."""
    return dict(aggregate_get(context, aggregate_id).metadata)


def aggregate_metadata_get_by_host(context, host, key=None):
    """Metadata of a host's aggregates, of this key alone if there is one.

    Returns {key: set of texts as they were written}, in which any other key
    reads as an empty set.
    """
    return _together(AggregateList.get_by_host(context, host, key), key)


def aggregate_metadata_get_by_metadata_key(context, aggregate_id, key):
    """One key of an aggregate's metadata, as of the function before.

    Raises AggregateNotFound.
    """
    return _together([aggregate_get(context, aggregate_id)], key)


def _together(aggregates, key):
    found = collections.defaultdict(set)
    for aggregate in aggregates:
        for name, value in aggregate.metadata.items():
            if key in (None, name):
                found[name].add(value)
    return found
