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
        self.within = _union(rows)
        # Shared verdicts alone only add to the rows.
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
                if self._asked(index, position))
                for index in range(self.guest_count)]
        return self.rows

    def _shared_rows(self, fitting, tokens, good, bad):
        """Return the host cells that may take each guest cell: masks."""
        # A host cell's id stands at its position, so that a row is also the
        # ids that a guest cell comes to hold on it.
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
    """Return the positions of the bits that are set, lowest first."""
    return tuple(position for position in range(mask.bit_length())
                 if mask >> position & 1)


def can_match(rows):
    """Return whether each row (a mask) can have a bit of its own."""
    return all(_placed(rows))


def most_matched(rows):
    """Return how many rows (masks) can have a bit of their own at once."""
    return sum(_placed(rows))


def _placed(rows):
    """Yield of each row whether it has a bit beside those before it."""
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
