"""An upper bound: whether a guest may fit on a host at all.

A guest does not fit if its cells cannot all be matched with host cells that
may take them.  A host cell may take a guest cell that fits on it; and,
where guest cells share verdicts under tokens, also one that can come to hold
a token under which another one that fits was, or may be, tried first.
"""

import functools


class Matching:
    """The host cells that each guest cell may be placed on.

    fits: function (guest index, host position) -> whether the guest cell fits
        there with any page size it may come to have; changes nothing.
    host_ids: of the host cells, in the order in which they are tried.

    Sets of host cells are masks of their positions.  After ``is_impossible``
    was asked, ``rows`` has that of the host cells each guest cell fits on,
    and ``within`` those that may take any.
    """

    def __init__(self, host_ids, guest_count, fits):
        self.host_ids, self.guest_count, self._asked = (
            host_ids, guest_count, fits)
        self.rows, self.within, self._settled = None, 0, False
        self.is_ruled_out = False

    def is_impossible(self, tokens, shared, settled, good=None, bad=None):
        """Return whether the guest cells, with these tokens, cannot match.

        shared: whether tokens are ids, under which verdicts are shared.
        settled: whether all page sizes are.
        good, bad: token -> host cells it was accepted or refused on, or None
            for whatever they are; a match is then ruled out for good
            (``is_ruled_out``).
        """
        rows = self._fitting_rows(settled)
        if shared:
            rows = self._shared_rows(rows, tokens, good or {}, bad or {})
        self.within = _union(rows)
        impossible = not can_match(rows)
        if impossible and good is None:
            self.is_ruled_out = True
        return impossible

    def _fitting_rows(self, settled):
        if self.rows is None or (settled and not self._settled):
            self._settled = settled
            self.rows = [sum(
                1 << position for position in range(len(self.host_ids))
                if self._asked(index, position))
                for index in range(self.guest_count)]
        return self.rows

    def _shared_rows(self, fitting, tokens, good, bad):
        """Return the host cells that may take each guest cell: masks."""
        held, rows = [{token} for token in tokens], list(fitting)
        while True:
            may = {}
            for ids, row in zip(held, fitting, strict=True):
                for token in ids:
                    may[token] = may.get(token, 0) | row
            taken = {token: good.get(token, 0) | row & ~bad.get(token, 0)
                     for token, row in may.items()}
            rows = [_union(taken[token] for token in ids) for ids in held]
            grown = [ids.union(self.host_ids[p] for p in bits(row))
                     for ids, row in zip(held, rows, strict=True)]
            if grown == held:
                return rows
            held = grown


def _union(masks):
    result = 0
    for mask in masks:
        result |= mask
    return result


@functools.lru_cache(maxsize=1 << 14)
def bits(mask):
    """Return the positions of the bits that are set, lowest first."""
    return tuple(position for position in range(mask.bit_length())
                 if mask >> position & 1)


def can_match(rows):
    """Return whether each row (a mask) can have a bit of its own."""
    owners = {}

    def place(row, seen):
        for position in bits(rows[row]):
            if position in seen:
                continue
            seen.add(position)
            if position not in owners or place(owners[position], seen):
                owners[position] = row
                return True
        return False

    return all(place(row, set()) for row in range(len(rows)))
