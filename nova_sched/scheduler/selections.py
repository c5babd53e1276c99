"""From picked rows to a driver's result: Selections, with alternates."""

import functools

from nova_sched import filters
from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values


def of(hosts, picked, alternates, zone, version=None):
    """Return lists of Selection, one an instance: its pick and alternates.

    hosts: HostSnapshot.  picked: list of (claims.ClaimedHost, limits).
    alternates: as many lists of the same, or an empty list.
    zone: availability zone of hosts that are in none.
    version: microversion of the allocation requests.
    """
    # The same few hosts are alternates of all instances.
    host_of = functools.cache(functools.partial(_host, hosts, zone))
    return [[objects.Selection(
        **host_of(claimed.row),
        limits=objects.SchedulerLimits.from_dict(limits),
        allocation_request=claimed.on_the_wire(),
        allocation_request_version=version)
             for claimed, limits in (pick, *others)]
            for pick, others in zip(
                picked, alternates or [()] * len(picked), strict=True)]


def _host(hosts, zone, row):
    """Return the fields of a Selection that depend on the host: dict."""
    uuid, host, node, cell, aggregates = (
        hosts.cell(name, row) for name in (
            'uuid', 'host', 'nodename', 'cell_uuid', 'aggregates'))
    zones = aggregate_values.values(aggregates, 'availability_zone')
    return {'compute_node_uuid': uuid or '', 'service_host': host,
            'nodename': node, 'cell_uuid': cell,
            'availability_zone': min(zones, default=zone)}


def alternates(hosts, picks, rows, most, first_of):
    """Return the alternates of each pick: lists of (ClaimedHost, limits).

    Alternates are in the pick's cell, are nobody's pick, and have an
    allocation request to claim.
    hosts: HostSnapshot.  picks: rows of the picks, list.
    rows: of the hosts that could take an instance, best first: an iterable,
        gone through as far as need be.
    most: how many a pick gets at most.
    first_of: function of (snapshot, row), see scheduler.claims.Claims.
    """
    cells, picked = hosts.column('cell_uuid').codes, {*picks}
    found = {cells.item(row): [] for row in picks}
    wanted = len(found) * most
    for row in rows:
        of_cell = found.get(cells.item(row))
        if of_cell is None or len(of_cell) == most or row in picked:
            continue
        claimed = first_of(hosts, row)
        if claimed is not None:
            of_cell.append((claimed, filters.limits_of(hosts, row)))
            wanted -= 1
            if not wanted:
                break
    return [found[cells.item(row)] for row in picks]
