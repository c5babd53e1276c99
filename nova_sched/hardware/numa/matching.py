"""An upper bound of the search: whether a guest can fit on a host at all.

A guest does not fit if its cells cannot be matched with different host cells.
A guest cell matches a host cell that it fits on.  If guest cells share
verdicts under tokens (``search``), it also matches a host cell for which a
token that it can get has, or can get, a good verdict from another guest cell.
"""

import functools


class Matching:
    """The host cells that each guest cell can be placed on.

    fits: function (guest index, host position) -> whether the guest cell fits
        there with any page size that it may get; it places nothing.
    host_ids: of the host cells, in the order of the search.

    Sets of host cells are masks of their positions.  A call of
    ``is_impossible`` sets ``rows``, for each guest cell the host cells that it
    fits on, and ``within``, the host cells for any guest cell.
    """

    def __init__(self, host_ids, guest_count, fits):
        self.host_ids, self.guest_count, self._fits = (
            host_ids, guest_count, fits)
        self.rows, self.within, self._settled = None, 0, False
        self.is_ruled_out = False

    def is_impossible(self, tokens, shared, settled, good=None, bad=None):
        """Return whether the guest cells, with these tokens, cannot match.

        shared: whether tokens are ids, under which verdicts are shared.
        settled: whether all page sizes are final.
        good, bad: token -> host cells with a good or bad verdict; None for any
            verdicts.  Without a match under any verdicts, all searches are in
            vain (``is_ruled_out``).
        """
        rows = self._fitting_rows(settled)
        self.within = _union(rows)
        # Shared good verdicts only add to the rows.
        if good is None and can_match(rows):
            return False
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
                if self._fits(index, position))
                for index in range(self.guest_count)]
        return self.rows

    def _shared_rows(self, fitting, tokens, good, bad):
        """Return the host cells that each guest cell matches: masks."""
        # The id of a host cell is at its position: a row is also the mask of
        # the ids that a guest cell can get.
        ids = list(dict.fromkeys((*self.host_ids, *tokens)))
        held = [1 << ids.index(token) for token in tokens]
        while True:
            fits, may = {}, {}
            for mask, row in zip(held, fitting, strict=True):
                fits[mask] = fits.get(mask, 0) | row
            for mask, row in fits.items():
                for number in bits(mask):
                    may[number] = may.get(number, 0) | row
            taken = {number: good.get(ids[number], 0)
                     | row & ~bad.get(ids[number], 0)
                     for number, row in may.items()}
            for mask in fits:
                fits[mask] = _union(taken[number] for number in bits(mask))
            grown = [mask | fits[mask] for mask in held]
            if grown == held:
                return [fits[mask] for mask in held]
            held = grown


def _union(masks):
    result = 0
    for mask in masks:
        result |= mask
    return result


@functools.lru_cache(maxsize=1 << 14)
def bits(mask):
    """Return the positions of the set bits, lowest first."""
    return tuple(position for position in range(mask.bit_length())
                 if mask >> position & 1)


def can_match(rows):
    """Return whether the rows (masks) have a matching of distinct bits."""
    return all(_placed(rows))


def most_matched(rows):
    """Return the size of a largest matching of rows (masks) and bits."""
    return sum(_placed(rows))


def _placed(rows):
    """Yield for each row whether it can be added to the matching."""
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

    for row in range(len(rows)):
        yield place(row, set())
