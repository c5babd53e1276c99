"""Host states as rows of a table, and back."""

import copy
import functools
import inspect

import numpy as np

from nova_sched.hosts import state as host_state


def block_of(states):
    """The HostBlock of host states, in their order; None unless all are of
    one table.
    """
    snapshots = {id(getattr(state, '_snapshot', None)) for state in states}
    if len(snapshots) != 1 or getattr(states[0], '_row', None) is None:
        return None
    return states[0]._snapshot.block(
        np.array([state._row for state in states], dtype=np.int64))


def rows_of(states, snapshot, method):
    """The rows of a snapshot that host states are of: int (n,).

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
    """What to raise for the host of a host state that is not there."""
    return ValueError(f'{method} answers with host {state.host!r}, node '
                      f'{state.nodename!r}, which is not there')


def names_of(state):
    """What a host state is known by: (host, node)."""
    return state.host, state.nodename


def by_name(snapshot):
    """The row of each host of a snapshot: (host, node) -> row."""
    hosts = snapshot.block()
    return {names: row for row, names in enumerate(zip(
        hosts.objects('host'), hosts.objects('nodename'), strict=True))}


def asked(method, *args):
    """What a method answers that takes all of the arguments, or the first.

    Methods of older releases take fewer.
    """
    return method(*args[:_count(getattr(method, '__func__', method),
                                inspect.ismethod(method))])


@functools.lru_cache(maxsize=64)
def _count(function, is_bound):
    """How many arguments by position it takes; None for any number."""
    kinds = [parameter.kind for parameter
             in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(kind in (inspect.Parameter.POSITIONAL_ONLY,
                        inspect.Parameter.POSITIONAL_OR_KEYWORD)
               for kind in kinds) - is_bound
