"""Alternates: hosts that could take an instance instead of its pick."""

import itertools

import numpy as np


def of(snapshot, picks, rows, most, first_of):
    """Per pick a list of (Taken, limits): alternates, at most so many.

    They are of the pick's cell, nobody's pick, and have something to claim.
    snapshot: HostSnapshot.  picks: rows of the picks, list.
    rows: int (n,), of the hosts that could take one, best first.
    first_of: function of (snapshot, row), see scheduler.claims.Claims.
    """
    is_picked = np.zeros(snapshot.size, dtype=np.bool_)
    is_picked[picks] = True
    rows = rows[~is_picked[rows]]
    cells = snapshot.column('cell_uuid').codes
    by_cell = {cell: _first(snapshot, rows[cells[rows] == cell], most,
                            first_of)
               for cell in set(cells[picks].tolist())}
    return [by_cell[cells.item(row)] for row in picks]


def _first(snapshot, rows, most, first_of):
    """The first of the rows that have something to claim."""
    found = (first_of(snapshot, row) for row in rows.tolist())
    return [(taken, snapshot.limits(taken.row)) for taken
            in itertools.islice(filter(None, found), most)]
