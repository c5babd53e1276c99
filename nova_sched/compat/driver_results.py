"""Conversion of drivers' results, of any release, to lists of Selection.

For each instance, drivers of Queens and later return a list of Selection,
drivers of Pike a HostState, and older drivers a dict or, between their own
methods, a WeighedHost.
"""

from nova_sched.hosts import state as host_state
from nova_sched.objects import selection
from nova_sched.objects.request_spec import SchedulerLimits


class Chosen(dict):
    """The result dict of one instance, made from a list of Selection."""

    def __init__(self, selections):
        super().__init__(selections[0].to_dict())
        self._selections, self._made = selections, dict(self)

    def is_unchanged(self):
        """Return whether the driver has left the dict as it was made."""
        return self == self._made


def as_dicts(chosen_lists):
    """Return one dict per instance: host, nodename and limits."""
    return [Chosen(selections) for selections in chosen_lists]


def as_states(chosen_lists, states):
    """Return one HostState per instance.

    states: function that returns the HostStates of all hosts.  A host that
    has disappeared since it was chosen gets a HostState with its names alone.
    """
    by_name = _by_name(states())
    made = []
    for selections in chosen_lists:
        chosen = selections[0]
        place = chosen.service_host, chosen.nodename
        state = by_name.get(place) or _missing_state(chosen, *place)
        state._selections = selections
        state.limits = chosen.to_dict()['limits']
        made.append(state)
    return made


def _missing_state(chosen, host, node):
    """Return a HostState for a Selection of a host that has disappeared."""
    state = host_state.HostState(host, node, chosen.cell_uuid)
    state.uuid = chosen.compute_node_uuid
    return state


def as_selections(results, states, driver):
    """Return the lists of Selection of a driver's results.

    results: one element per instance.  driver: its name.
    states: see ``as_states``.
    Raises ValueError for an unknown host, TypeError for an element of a type
    that drivers of no release return.
    """
    hosts = None
    made = []
    for result in results:
        if isinstance(result, Chosen) and result.is_unchanged():
            result = result._selections
        elif isinstance(result, dict):
            hosts = hosts or _by_name(states())
            result = _selection_of(result, hosts, driver)
        made.append(_listed(result, driver))
    return made


def _listed(result, driver):
    if isinstance(result, (list, tuple)):
        return [_listed(one, driver)[0] for one in result]
    if isinstance(result, selection.Selection):
        return [result]
    state = getattr(result, 'obj', result)
    known = getattr(state, '_selections', None)
    if known is not None:
        return known
    try:
        return [selection.Selection.from_host_state(state)]
    except AttributeError:
        raise TypeError(
            f'driver {driver} returned {result!r}; that is no Selection, '
            'HostState or dict with host and nodename') from None


def _selection_of(result, hosts, driver):
    """Return the Selection of a dict with host, nodename and limits."""
    host, node = result.get('host'), result.get('nodename')
    for (name, nodename), state in hosts.items():
        if name == host and node in (None, nodename):
            made = selection.Selection.from_host_state(state)
            made.limits = SchedulerLimits.from_dict(result.get('limits'))
            return made
    raise ValueError(f'driver {driver} chose host {host!r}, node {node!r}, '
                     'which does not exist')


def _by_name(states):
    return {(state.host, state.nodename): state for state in states}
