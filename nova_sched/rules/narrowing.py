"""Narrowing: excluding hosts by names in the request, before filters run.

The request may name a cell, a destination, ignored hosts, and forced hosts and
nodes.  Behavior and log texts are Nova's.
"""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import phrases

LOG = logging.getLogger(__name__)

#: Names of the steps in records.
CELL, DESTINATION, IGNORED, FORCED_HOSTS, FORCED_NODES = (
    'cell', 'requested destination', 'ignore_hosts', 'force_hosts',
    'force_nodes')


def in_cells(hosts, destination):
    """Return the hosts in cells that a request may use: HostBlock.

    hosts: HostBlock.  destination: the request's Destination, or None.
    """
    passes = _cell(hosts, destination)
    return hosts if passes is None else hosts.where(passes)


def _cell(hosts, destination):
    cell = destination.cell if destination is not None else None
    if cell is not None and not destination.allow_cross_cell_move:
        return hosts.named('cell_uuid', [cell.uuid])
    disabled = hosts.snapshot.cells.disabled
    return ~hosts.named('cell_uuid', disabled) if disabled else None


def _requested(hosts, spec_obj):
    destination = spec_obj.requested_destination
    if destination is None or destination.host is None:
        return None
    passes = _is_destination(hosts, destination)
    LOG.info('Host filter only checking host %(host)s and node %(node)s'
             if passes.any() else
             'No hosts matched due to not matching requested destination '
             '(%(host)s, %(node)s)',
             {'host': destination.host, 'node': destination.node})
    return passes


def _is_destination(hosts, destination):
    passes = hosts.named('host', [destination.host])
    if destination.node:
        passes &= hosts.named('nodename', [destination.node])
    return passes


def _ignored(hosts, spec_obj):
    if not spec_obj.ignore_hosts:
        return None
    ignored = named(hosts, spec_obj.ignore_hosts)
    if ignored.any():
        LOG.info('Host filter ignoring hosts: %s', ', '.join(
            sorted(set(hosts.where(ignored).objects('host')))))
    return ~ignored


def _forced_hosts(hosts, spec_obj):
    names = spec_obj.force_hosts
    return _forced(named(hosts, names), 'hosts', names) if names else None


def _forced_nodes(hosts, spec_obj):
    names = spec_obj.force_nodes
    return (_forced(hosts.named('nodename', names), 'nodes', names)
            if names else None)


def named(hosts, names):
    """Return which hosts have one of the names, in any case: bool (n,)."""
    lower = {name.lower() for name in names}
    return hosts.evaluate('host', lambda name: name.lower() in lower)


def _forced(passes, kind, names):
    LOG.info('Host filter forcing available %(kind)s to %(names)s'
             if passes.any() else
             "No %(kind)s matched due to not matching 'force_%(kind)s' value "
             "of '%(names)s'", {'kind': kind, 'names': ', '.join(names)})
    return passes


#: The steps in order: name, and function that returns which hosts pass: bool
#: (n,), or None if the step does not apply to the request.
_NARROWING = ((CELL, lambda hosts, spec_obj: _cell(
                  hosts, spec_obj.requested_destination)),
              (DESTINATION, _requested),
              (IGNORED, _ignored),
              (FORCED_HOSTS, _forced_hosts),
              (FORCED_NODES, _forced_nodes))

#: Names of the steps in records.
NAMES = frozenset(name for name, _ in _NARROWING)


def narrowed(hosts, spec_obj, index, decision):
    """Return the hosts that pass, and whether filters are skipped.

    hosts: HostBlock.  index: number of the instance in the request.
    decision: the Decision that records each step.
    Filters are skipped for forced hosts, and if the request ignores all hosts.
    """
    for name, narrow in _NARROWING:
        passes = narrow(hosts, spec_obj)
        if passes is None:
            continue
        before, hosts = hosts, hosts.where(passes)
        if hosts is not before:
            decision.funnel.step(index, name, before.rows, hosts.rows)
        if narrow is _ignored and not len(hosts):
            return hosts, True
    return hosts, is_forced(spec_obj)


def is_forced(spec_obj):
    """Return whether a request forces hosts, so that filters are skipped."""
    forced = spec_obj.force_hosts or spec_obj.force_nodes
    return bool(
        forced and not spec_obj.get_scheduler_hint('_nova_check_type'))


def applicable(hosts, spec_obj):
    """Return the steps that apply to a request, in order: list of pairs.

    hosts: HostBlock.
    Each pair has the name of a step, and the hosts that pass this step alone:
    HostBlock.
    """
    return [(name, hosts.where(passes)) for name, narrow in _NARROWING
            if (passes := narrow(hosts, spec_obj)) is not None]


def bound_to(hosts, spec_obj):
    """Return the rows of hosts that a request is bound or forced to: int (n,).

    Empty if the request may use any host.
    hosts: HostBlock.
    """
    destination, masks = spec_obj.requested_destination, []
    if destination is not None and destination.host is not None:
        masks.append(_is_destination(hosts, destination))
    if spec_obj.force_hosts:
        masks.append(named(hosts, spec_obj.force_hosts))
    if spec_obj.force_nodes:
        masks.append(hosts.named('nodename', spec_obj.force_nodes))
    return (hosts.rows[np.all(masks, axis=0)] if masks
            else hosts.rows[:0])


def reason(name, spec_obj):
    """Return a text on why a step rejects a host.

    name: name of a step that ``applicable`` returns.
    """
    destination = spec_obj.requested_destination
    if name == CELL:
        return ('the request is bound to another cell'
                if destination is not None and destination.cell is not None
                else 'its cell is disabled')
    if name == DESTINATION:
        node = f', node {destination.node}' if destination.node else ''
        return f'the request is bound to host {destination.host}{node}'
    if name == IGNORED:
        return 'the request ignores it'
    kind, names = (('host', spec_obj.force_hosts) if name == FORCED_HOSTS
                   else ('node', spec_obj.force_nodes))
    return f'the request is forced to {kind} {phrases.some(names)}'
