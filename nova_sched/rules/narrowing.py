"""Narrowing the hosts by what a request names, before any filter runs.

Rules and log texts are those of Nova's host manager.
"""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import phrases

LOG = logging.getLogger(__name__)

#: What the steps are called in the record of a request.
CELL, DESTINATION, IGNORED, FORCED_HOSTS, FORCED_NODES = (
    'cell', 'requested destination', 'ignore_hosts', 'force_hosts',
    'force_nodes')


def in_cells(hosts, wanted):
    """Return those of the hosts that are in a cell which a request may have.

    hosts: HostBlock.  wanted: the request's Destination, or None.
    """
    kept = _in_cells(hosts, wanted)
    return hosts if kept is None else hosts.where(kept)


def _in_cells(hosts, wanted):
    cell = wanted.cell if wanted is not None else None
    if cell is not None and not wanted.allow_cross_cell_move:
        return hosts.named('cell_uuid', [cell.uuid])
    disabled = hosts.snapshot.cells.disabled
    return ~hosts.named('cell_uuid', disabled) if disabled else None


def _cell(hosts, spec_obj):
    return _in_cells(hosts, spec_obj.requested_destination)


def _requested(hosts, spec_obj):
    wanted = spec_obj.requested_destination
    if wanted is None or wanted.host is None:
        return None
    kept = _is_destination(hosts, wanted)
    LOG.info('Host filter only checking host %(host)s and node %(node)s'
             if kept.any() else
             'No hosts matched due to not matching requested destination '
             '(%(host)s, %(node)s)',
             {'host': wanted.host, 'node': wanted.node})
    return kept


def _is_destination(hosts, wanted):
    kept = hosts.named('host', [wanted.host])
    if wanted.node:
        kept &= hosts.named('nodename', [wanted.node])
    return kept


def _ignored(hosts, spec_obj):
    if not spec_obj.ignore_hosts:
        return None
    ignored = _named(hosts, spec_obj.ignore_hosts)
    if ignored.any():
        LOG.info('Host filter ignoring hosts: %s', ', '.join(
            sorted(set(hosts.where(ignored).objects('host')))))
    return ~ignored


def _forced_hosts(hosts, spec_obj):
    names = spec_obj.force_hosts
    return _forced(_named(hosts, names), 'hosts', names) if names else None


def _forced_nodes(hosts, spec_obj):
    names = spec_obj.force_nodes
    return (_forced(hosts.named('nodename', names), 'nodes', names)
            if names else None)


def _named(hosts, names):
    """Return which hosts have one of the names, in whatever case: bool (n,).
    """
    wanted = {name.lower() for name in names}
    return hosts.judge('host', lambda name: name.lower() in wanted)


def _forced(kept, kind, names):
    LOG.info('Host filter forcing available %(kind)s to %(names)s'
             if kept.any() else
             "No %(kind)s matched due to not matching 'force_%(kind)s' value "
             "of '%(names)s'", {'kind': kind, 'names': ', '.join(names)})
    return kept


#: What a request may name, in the order in which it is looked at, and which
#: hosts that leaves: bool (n,), or None if the request does not name it.
_NARROWING = ((CELL, _cell),
              (DESTINATION, _requested),
              (IGNORED, _ignored),
              (FORCED_HOSTS, _forced_hosts),
              (FORCED_NODES, _forced_nodes))

#: What the steps are called in the record of a request.
NAMES = frozenset(name for name, _ in _NARROWING)


def narrowed(hosts, spec_obj, index, decision):
    """Return the hosts that are left, and whether that is all there is to ask.

    hosts: HostBlock.  index: which instance of the request.
    decision: the Decision that records each step.
    No filter is asked about hosts that are forced, or when the hosts to
    ignore are all there are.
    """
    for name, narrow in _NARROWING:
        kept = narrow(hosts, spec_obj)
        if kept is None:
            continue
        before, hosts = hosts, hosts.where(kept)
        if hosts is not before:
            decision.funnel.step(index, name, before.rows, hosts.rows)
        if narrow is _ignored and not len(hosts):
            return hosts, True
    return hosts, is_forced(spec_obj)


def is_forced(spec_obj):
    """Return whether a request forces hosts, so that no filter is asked."""
    forced = spec_obj.force_hosts or spec_obj.force_nodes
    return bool(
        forced and not spec_obj.get_scheduler_hint('_nova_check_type'))


def asked(hosts, spec_obj):
    """Return the steps that a request asks for, in their order: list.

    hosts: HostBlock.
    Of (name, which of the hosts the step leaves if it is asked alone); the
    latter a HostBlock.
    """
    return [(name, hosts.where(kept)) for name, narrow in _NARROWING
            if (kept := narrow(hosts, spec_obj)) is not None]


def bound_to(hosts, spec_obj):
    """Return the rows of the hosts that a request is bound or forced to: int
    (n,); none if it may go anywhere.

    hosts: HostBlock.
    """
    wanted, kept = spec_obj.requested_destination, []
    if wanted is not None and wanted.host is not None:
        kept.append(_is_destination(hosts, wanted))
    if spec_obj.force_hosts:
        kept.append(_named(hosts, spec_obj.force_hosts))
    if spec_obj.force_nodes:
        kept.append(hosts.named('nodename', spec_obj.force_nodes))
    return (hosts.rows[np.all(kept, axis=0)] if kept
            else hosts.rows[:0])


def reason(name, spec_obj):
    """Return why a step rejects a host, in words.

    name: of one of the steps that ``asked`` returns.
    """
    wanted = spec_obj.requested_destination
    if name == CELL:
        return ('the request is bound to another cell'
                if wanted is not None and wanted.cell is not None
                else 'its cell is disabled')
    if name == DESTINATION:
        node = f', node {wanted.node}' if wanted.node else ''
        return f'the request is bound to host {wanted.host}{node}'
    if name == IGNORED:
        return 'the request ignores it'
    kind, names = (('host', spec_obj.force_hosts) if name == FORCED_HOSTS
                   else ('node', spec_obj.force_nodes))
    return f'the request is forced to {kind} {phrases.some(names)}'
