"""Helpers that Nova's filters shared, for plug-ins that import them.

Plug-ins know these functions by name, and by the order of their arguments;
filters here use ``rules.aggregates``.
"""

import collections

from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values


def aggregate_values_from_key(host_state, key_name):
    """Return the set of raw values of one key over a host's aggregates."""
    return set(aggregate_values.values(host_state.aggregates, key_name))


def aggregate_values_from_db(context, host, key_name):
    """Return the same, by the name of a host of the request; as of Juno.

    context: is not needed.  Raises current_hosts.NoCurrentHosts.
    """
    return set(aggregate_values.values(
        objects.AggregateList.get_by_host(context, host), key_name))


def aggregate_metadata_get_by_host(host_state, key=None):
    """Return the metadata of a host's aggregates: {key: set of texts}.

    Values are split at commas and stripped. key: only of aggregates that
    have this key, but then all of their metadata.  A key that none of them
    has reads as an empty set.
    """
    aggregates = [aggregate for aggregate in host_state.aggregates
                  if key is None or key in aggregate.metadata]
    return collections.defaultdict(set, {
        name: set(aggregate_values.pieces(aggregates, name))
        for name in aggregate_values.keys(aggregates)})


def validate_num_values(vals, default=None, cast_to=int, based_on=min):
    """Return one number of a set of texts, by default the smallest.

    default: what no values give.
    Raises ValueError for a text that ``cast_to`` refuses.
    """
    return based_on(map(cast_to, vals)) if vals else default


def instance_uuids_overlap(host_state, uuids):
    """Return whether any of these instances is on the host."""
    uuids = [uuids] if isinstance(uuids, str) else uuids
    return not set(uuids).isdisjoint(host_state.instances)


def other_types_on_host(host_state, instance_type_id):
    """Return whether an instance of another flavor is on the host."""
    return any(instance.instance_type_id != instance_type_id
               for instance in host_state.instances.values())
