"""From picked rows to a driver's result: Selections, with alternates."""

import dataclasses
import functools

from nova_sched import filters
from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A host for an instance.

    hosts: HostSnapshot of it.  claimed: claims.ClaimedHost.
    limits: what the filters leave the compute node to enforce: dict.
    """

    hosts: object
    claimed: object
    limits: dict


def of(picks, alternates, zone, version=None):
    """Return lists of Selection, one an instance: its pick and alternates.

    picks: list of Chosen.
    alternates: as many lists of Chosen, or an empty list.
    zone: availability zone of hosts that are in none.
    version: microversion of the allocation requests.
    """
    # The same few hosts are alternates of all instances.
    host_of = functools.cache(functools.partial(_host, zone))
    return [[objects.Selection(
        **host_of(chosen.hosts, chosen.claimed.row),
        limits=objects.SchedulerLimits.from_dict(chosen.limits),
        allocation_request=chosen.claimed.on_the_wire(),
        allocation_request_version=version)
             for chosen in (pick, *others)]
            for pick, others in zip(
                picks, alternates or [()] * len(picks), strict=True)]


def _host(zone, hosts, row):
    """Return the fields of a Selection that depend on the host: dict."""
    uuid, host, node, cell, aggregates = (
        hosts.cell(name, row) for name in (
            'uuid', 'host', 'nodename', 'cell_uuid', 'aggregates'))
    zones = aggregate_values.values(aggregates, 'availability_zone')
    return {'compute_node_uuid': uuid or '', 'service_host': host,
            'nodename': node, 'cell_uuid': cell,
            'availability_zone': min(zones, default=zone)}


def alternates(hosts, picks, rows, most, first_of):
    """Return the alternates of each pick: lists of Chosen.

    Alternates are in the pick's cell, are no other instance's pick, and have
    an allocation request to claim.
    hosts: HostSnapshot.  picks: as of ``of``, of this or other snapshots.
    rows: of the hosts that could take an instance, best first: an iterable,
        gone through as far as need be.
    most: how many a pick gets at most.
    first_of: function of (snapshot, row), see scheduler.claims.Claims.
    """
    column = hosts.column('cell_uuid')
    cells, of_picks = column.codes, [
        column.code(pick.hosts.cell('cell_uuid', pick.claimed.row))
        for pick in picks]
    picked = {row_of(hosts, pick) for pick in picks}
    found = {cell: [] for cell in of_picks}
    wanted = len(found) * most
    for row in rows:
        of_cell = found.get(cells.item(row))
        if of_cell is None or len(of_cell) == most or row in picked:
            continue
        claimed = first_of(hosts, row)
        if claimed is not None:
            of_cell.append(Chosen(hosts, claimed,
                                  filters.limits_of(hosts, row)))
            wanted -= 1
            if not wanted:
                break
    return [found[cell] for cell in of_picks]


def row_of(hosts, pick):
    """Return the row of a pick in a HostSnapshot; None if it is gone."""
    row = pick.claimed.row
    if pick.hosts is hosts:
        return row
    return hosts.table.row(*(pick.hosts.cell(name, row)
                             for name in ('host', 'nodename')))
