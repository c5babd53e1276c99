"""Host states as rows of a table, and back."""

import copy
import functools
import inspect

import numpy as np

from nova_sched.hosts import state as host_state


def block_of(states):
    """Return the HostBlock of host states, in their order; None unless all are
    of a table.

    Those of another table than the first's are of this one from then on.
    """
    rows = [getattr(state, '_row', None) for state in states]
    if None in rows:
        return None
    snapshot = states[0]._snapshot
    if all(state._snapshot is snapshot for state in states):
        return snapshot.block(np.array(rows, dtype=np.int64))
    return snapshot.block(rows_of(states, snapshot, 'get_all_host_states'))


def rows_of(states, snapshot, method):
    """Return the rows of a snapshot that host states are of: int (n,).

    States that were made elsewhere, or for another request, are the rows'
    from then on, by host and node.
    method: what answered them, for messages.
    Raises TypeError for what is no host state, ValueError for one of a host
    that is not there.
    """
    rows, known = [], None
    for state in states:
        if not isinstance(state, host_state.HostState):
            raise TypeError(
                f'{method} answers with {state!r}, which is no HostState of '
                'nova.scheduler.host_manager')
        if state._snapshot is snapshot:
            rows.append(state._row)
            continue
        known = known or by_name(snapshot)
        row = known.get(names_of(state))
        if row is None:
            raise not_there(method, state)
        # It may be kept by whoever made it, for other requests.
        snapshot.have(row, copy.copy(state))
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def not_there(method, state):
    """Return what to raise for the host of a host state that is not there."""
    return ValueError(f'{method} answers with host {state.host!r}, node '
                      f'{state.nodename!r}, which is not there')


def names_of(state):
    """Return what a host state is known by: (host, node)."""
    return state.host, state.nodename


def by_name(snapshot):
    """Return the row of each host of a snapshot: (host, node) -> row."""
    hosts = snapshot.block()
    return {names: row for row, names in enumerate(zip(
        hosts.objects('host'), hosts.objects('nodename'), strict=True))}


def asked(method, *args, **about):
    """Return what a method answers that takes all of the arguments, or the
    first.

    Methods of older releases take fewer.
    about: what it is given by name, as far as it has such parameters.
    """
    rest, places, named = list(args), [], {}
    for parameter in _parameters(method):
        if parameter.kind is parameter.VAR_POSITIONAL:
            places += rest
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= about
        elif parameter.name in about:
            named[parameter.name] = about.pop(parameter.name)
            if parameter.kind is not parameter.KEYWORD_ONLY and rest:
                places.append(named.pop(parameter.name))
        elif parameter.kind is not parameter.KEYWORD_ONLY and rest:
            places.append(rest.pop(0))
    return method(*places, **named)


def takes(method, name):
    """Return whether a method can be given an argument by this name."""
    return any(parameter.kind is parameter.VAR_KEYWORD
               or parameter.name == name for parameter in _parameters(method))


def _parameters(method):
    found = _of_function(getattr(method, '__func__', method))
    return found[1:] if inspect.ismethod(method) else found


@functools.lru_cache(maxsize=64)
def _of_function(function):
    return tuple(inspect.signature(function).parameters.values())
