"""Copying what instances have taken of hosts from table to table."""

import numpy as np

from nova_sched.hosts import columns


def copy_usage(table, source, rows):
    """Return a HostTable with the usage of some rows of another one.

    rows: list of (row of the source, row of the table, ...).
    """
    if not rows:
        return table
    was, now = (np.array([item[side] for item in rows]) for side in (0, 1))
    values = {}
    for name in columns.CONSUMED:
        theirs, ours = source.columns[name], table.columns[name]
        if isinstance(ours, np.ndarray):
            values[name] = ours.copy()
            values[name][now] = theirs[was]
        else:
            values[name] = _relabelled(ours, theirs, was, now)
    return table.of(table.columns | values)


def may_hold(table, row, demand):
    """Return whether an instance is no larger than a whole host.

    A host that reports no amount, as bare metal does, may hold any.
    demand: RequestSpec that has what the instance takes.
    """
    return all(
        not total or wanted <= total for total, wanted in (
            (table.columns['total_usable_ram_mb'].item(row),
             demand.memory_mb),
            (table.columns['vcpus_total'].item(row), demand.vcpus)))


def _relabelled(ours, theirs, was, now):
    """Return labels with those of other rows where these differ."""
    changes = {}
    for at, row in zip(was.tolist(), now.tolist(), strict=True):
        value = theirs.values[theirs.codes.item(at)]
        if value != ours.values[ours.codes.item(row)]:
            changes[row] = value
    return ours.private().replaced(changes) if changes else ours
