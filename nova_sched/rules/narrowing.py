"""Narrowing the hosts by what a request names, before any filter runs.

Rules and log texts are those of Nova's host manager.
"""

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
    cell = wanted.cell if wanted is not None else None
    if cell is None or wanted.allow_cross_cell_move:
        disabled = hosts.snapshot.cells.disabled
        return hosts if not disabled else hosts.where(
            ~hosts.named('cell_uuid', disabled))
    return hosts.where(hosts.named('cell_uuid', [cell.uuid]))


def _cell(hosts, spec_obj):
    return in_cells(hosts, spec_obj.requested_destination)


def _requested(hosts, spec_obj):
    wanted = spec_obj.requested_destination
    if wanted is None or wanted.host is None:
        return hosts
    mask = hosts.named('host', [wanted.host])
    if wanted.node:
        mask &= hosts.named('nodename', [wanted.node])
    names = {'host': wanted.host, 'node': wanted.node}
    if mask.any():
        LOG.info('Host filter only checking host %(host)s and node %(node)s',
                 names)
    else:
        LOG.info('No hosts matched due to not matching requested destination '
                 '(%(host)s, %(node)s)', names)
    return hosts.where(mask)


def _ignored(hosts, spec_obj):
    if not spec_obj.ignore_hosts:
        return hosts
    wanted = {name.lower() for name in spec_obj.ignore_hosts}
    mask = hosts.judge('host', lambda name: name.lower() in wanted)
    if mask.any():
        LOG.info('Host filter ignoring hosts: %s', ', '.join(
            sorted(set(hosts.where(mask).objects('host')))))
    return hosts.where(~mask)


def _forced_hosts(hosts, spec_obj):
    if not spec_obj.force_hosts:
        return hosts
    wanted = {name.lower() for name in spec_obj.force_hosts}
    return _forced(hosts, hosts.judge('host', lambda n: n.lower() in wanted),
                   'hosts', spec_obj.force_hosts)


def _forced_nodes(hosts, spec_obj):
    if not spec_obj.force_nodes:
        return hosts
    return _forced(hosts, hosts.named('nodename', spec_obj.force_nodes),
                   'nodes', spec_obj.force_nodes)


def _forced(hosts, mask, kind, names):
    if mask.any():
        LOG.info('Host filter forcing available %(kind)s to %(names)s',
                 {'kind': kind, 'names': ', '.join(names)})
    else:
        LOG.info("No %(kind)s matched due to not matching 'force_%(kind)s' "
                 "value of '%(names)s'",
                 {'kind': kind, 'names': ', '.join(names)})
    return hosts.where(mask)


#: What a request may name, in the order in which it is looked at.
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
        before = hosts
        hosts = narrow(hosts, spec_obj)
        if hosts is not before:
            decision.funnel.step(index, name, before.rows, hosts.rows)
        if narrow is _ignored and spec_obj.ignore_hosts and not len(hosts):
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
    wanted = spec_obj.requested_destination
    is_asked = {
        CELL: ((wanted is not None and wanted.cell is not None)
               or hosts.snapshot.cells.disabled),
        DESTINATION: wanted is not None and wanted.host is not None,
        IGNORED: spec_obj.ignore_hosts, FORCED_HOSTS: spec_obj.force_hosts,
        FORCED_NODES: spec_obj.force_nodes}
    return [(name, narrow(hosts, spec_obj)) for name, narrow in _NARROWING
            if is_asked[name]]


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
