"""Helpers of Nova's filters, for plug-ins that import them.

Names and order of arguments are Nova's.  Built-in filters use
``rules.aggregates`` instead.
"""

import collections

from nova_sched import objects
from nova_sched.rules import aggregates as host_aggregates


def aggregate_values_from_key(host_state, key_name):
    """Return the set of raw values of one key over a host's aggregates."""
    return set(host_aggregates.values(host_state.aggregates, key_name))


def aggregate_values_from_db(context, host, key_name):
    """Return the set of raw values of one key over a host's aggregates.

    context: not used.  host: name of a host of the current request.
    A function of Juno's.  Raises compat.current_hosts.NoCurrentHosts.
    """
    return set(host_aggregates.values(
        objects.AggregateList.get_by_host(context, host), key_name))


def aggregate_metadata_get_by_host(host_state, key=None):
    """Return the metadata of a host's aggregates: {key: set of strings}.

    Values are split at commas and stripped.  Missing keys have an empty set.
    key: use only aggregates that have this key, but all of their metadata.
    """
    aggregates = [aggregate for aggregate in host_state.aggregates
                  if key is None or key in aggregate.metadata]
    return collections.defaultdict(set, {
        name: set(host_aggregates.split_values(aggregates, name))
        for name in host_aggregates.keys(aggregates)})


def validate_num_values(vals, default=None, cast_to=int, based_on=min):
    """Return one number of a set of strings, by default the smallest.

    default: result for an empty set.
    Raises ValueError for a string that ``cast_to`` refuses.
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
