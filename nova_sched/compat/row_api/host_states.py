"""Host states as rows of a table, and back."""

import copy
import functools
import inspect

import numpy as np

from nova_sched.hosts import state as host_state


def block_of(states):
    """Return the HostBlock of host states, in their order.

    None if a state belongs to no table.  States of other tables move to the
    table of the first one.
    """
    rows = [getattr(state, '_row', None) for state in states]
    if None in rows:
        return None
    snapshot = states[0]._snapshot
    if all(state._snapshot is snapshot for state in states):
        return snapshot.block(np.array(rows, dtype=np.int64))
    return snapshot.block(rows_of(states, snapshot, 'get_all_host_states'))


def rows_of(states, snapshot, method):
    """Return the rows of host states in a snapshot: int (n,).

    A state that was made elsewhere, or for another request, becomes the state
    of the row with its host and node.
    method: the method that returned the states, for messages.
    Raises TypeError for an element that is no HostState, ValueError for an
    unknown host.
    """
    rows, known = [], None
    for state in states:
        if not isinstance(state, host_state.HostState):
            raise TypeError(
                f'{method} returned {state!r}, which is no HostState of '
                'nova.scheduler.host_manager')
        if state._snapshot is snapshot:
            rows.append(state._row)
            continue
        known = known or by_name(snapshot)
        row = known.get(names_of(state))
        if row is None:
            raise unknown_host(method, state)
        # A copy: the plug-in may keep the state for other requests.
        snapshot.have(row, copy.copy(state))
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def unknown_host(method, state):
    """Return the ValueError for the unknown host of a host state."""
    return ValueError(f'{method} returned host {state.host!r}, node '
                      f'{state.nodename!r}, which does not exist')


def names_of(state):
    """Return the key of a host state: (host, node)."""
    return state.host, state.nodename


def by_name(snapshot):
    """Return the row of each host of a snapshot: (host, node) -> row."""
    hosts = snapshot.block()
    return {names: row for row, names in enumerate(zip(
        hosts.objects('host'), hosts.objects('nodename'), strict=True))}


def call(method, *args, **optional):
    """Return the result of a method that takes all of the arguments, or fewer.

    Methods of older releases take only the first ones.
    optional: arguments by name; those without a parameter are left out.
    """
    rest, places, named = list(args), [], {}
    parameters = _parameters(method)
    has_names = any(parameter.kind is parameter.VAR_KEYWORD
                    for parameter in parameters)
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            # What goes by name must not be passed twice.
            places += [value for value in rest if not has_names or all(
                value is not other for other in optional.values())]
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= optional
        elif parameter.name in optional:
            named[parameter.name] = optional.pop(parameter.name)
            if parameter.kind is not parameter.KEYWORD_ONLY and rest:
                places.append(named.pop(parameter.name))
        elif parameter.kind is not parameter.KEYWORD_ONLY and rest:
            places.append(rest.pop(0))
    return method(*places, **named)


def _parameters(method):
    found = _of_function(getattr(method, '__func__', method))
    return found[1:] if inspect.ismethod(method) else found


@functools.lru_cache(maxsize=64)
def _of_function(function):
    return tuple(inspect.signature(function).parameters.values())
