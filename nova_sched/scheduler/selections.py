"""Making a driver's result of the picks: Selections, with alternates."""

import dataclasses
import functools

from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import limits


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A host for an instance.

    hosts: HostSnapshot that has it.  claimed: claims.ClaimedHost.
    limits: limits that the compute node checks: dict.
    """

    hosts: object
    claimed: object
    limits: dict


def of(picks, alternates, zone, version=None):
    """Return lists of Selection, one an instance: its pick and alternates.

    picks: list of Chosen.
    alternates: as many lists of Chosen, or an empty list.
    zone: availability zone of hosts without a zone in their aggregates.
    version: microversion of the allocation requests.
    """
    # All instances share the same few hosts as alternates.
    host_of = functools.cache(functools.partial(_host, zone))
    return [[objects.Selection(
        **host_of(chosen.hosts, chosen.claimed.row),
        limits=objects.SchedulerLimits.from_dict(chosen.limits),
        allocation_request=chosen.claimed.on_the_wire(),
        allocation_request_version=version)
             for chosen in (pick, *more)]
            for pick, more in zip(
                picks, alternates or [()] * len(picks), strict=True)]


def _host(zone, hosts, row):
    """Return the fields of a Selection that depend on the host: dict."""
    uuid, host, node, cell, aggregates = (
        hosts.value(name, row) for name in (
            'uuid', 'host', 'nodename', 'cell_uuid', 'aggregates'))
    zones = aggregate_values.values(aggregates, 'availability_zone')
    return {'compute_node_uuid': uuid or '', 'service_host': host,
            'nodename': node, 'cell_uuid': cell,
            'availability_zone': min(zones, default=zone)}


def alternates(hosts, picks, rows, most, first_of):
    """Return the alternates of each pick: lists of Chosen.

    An alternate is in the pick's cell, is not picked for another instance, and
    has an allocation request.
    hosts: HostSnapshot.
    picks: list of Chosen, of this or other snapshots.
    rows: iterable of the rows of hosts that can take an instance, best first;
        read only as far as necessary.
    most: maximum number of alternates of a pick.
    first_of: function of (snapshot, row), see scheduler.claims.Claims.
    """
    column = hosts.column('cell_uuid')
    cells, pick_cells = column.codes, [
        column.code(pick.hosts.value('cell_uuid', pick.claimed.row))
        for pick in picks]
    picked = {row_of(hosts, pick) for pick in picks}
    by_cell = {cell: [] for cell in pick_cells}
    missing = len(by_cell) * most
    for row in rows:
        in_cell = by_cell.get(cells.item(row))
        if in_cell is None or len(in_cell) == most or row in picked:
            continue
        claimed = first_of(hosts, row)
        if claimed is not None:
            in_cell.append(Chosen(hosts, claimed,
                                  limits.of_row(hosts, row)))
            missing -= 1
            if not missing:
                break
    return [by_cell[cell] for cell in pick_cells]


def row_of(hosts, pick):
    """Return the row of a pick's host in a HostSnapshot; None if it is gone.
    """
    row = pick.claimed.row
    if pick.hosts is hosts:
        return row
    return hosts.table.row(*pick.hosts.names(row))
