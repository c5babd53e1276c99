"""Host states as rows of a table, and back."""

import copy
import functools
import inspect

import numpy as np

from nova_sched.hosts import state as host_state


class Node:
    """A compute node as its database row says, by its host's row of a table.

    As attributes and as items.  Of the columns that no rule reads none is
    there.
    """

    def __init__(self, snapshot, row):
        self._snapshot, self._row = snapshot, row
        state = host_state.HostState.of(snapshot, row)
        self.host, self.hypervisor_hostname = state.host, state.nodename
        for name, theirs in _NODE.items():
            setattr(self, name, getattr(state, theirs))
        self.free_disk_gb = state.free_disk_mb // 1024
        self.disk_available_least = None
        self.local_gb_used = state.disk_mb_used // 1024

    def place(self, state):
        """Have a HostState be that of this node's row from then on."""
        self._snapshot.have(self._row, state)

    def __getitem__(self, name):
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name, default=None):
        return getattr(self, name, default)


#: Column of compute_nodes -> attribute of a host state.
_NODE = {'memory_mb': 'total_usable_ram_mb', 'free_ram_mb': 'free_ram_mb',
         'local_gb': 'total_usable_disk_gb', 'vcpus': 'vcpus_total',
         'vcpus_used': 'vcpus_used', 'updated_at': 'updated'} | {
    name: name for name in (
        'uuid', 'host_ip', 'hypervisor_type', 'hypervisor_version',
        'cpu_info', 'supported_instances', 'stats', 'numa_topology',
        'cpu_allocation_ratio', 'ram_allocation_ratio',
        'disk_allocation_ratio')}


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
    rows, by_name = [], None
    for state in states:
        if not isinstance(state, host_state.HostState):
            raise TypeError(
                f'{method} answers with {state!r}, which is no HostState of '
                'nova.scheduler.host_manager')
        if state._snapshot is snapshot:
            rows.append(state._row)
            continue
        by_name = by_name or _by_name(snapshot)
        row = by_name.get(names_of(state))
        if row is None:
            raise ValueError(
                f'{method} answers with host {state.host!r}, node '
                f'{state.nodename!r}, which is not there')
        # It may be kept by whoever made it, for other requests.
        snapshot.have(row, copy.copy(state))
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def names_of(state):
    """What a host state is known by: (host, node)."""
    return state.host, state.nodename


def _by_name(snapshot):
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
