"""A bound on the search for host cells.

The exact search for cells with devices and networks near them can take time
exponential in the number of cells.  Hosts of up to eight cells hardly ever
reach the bound.  Larger hosts reach it for guests of many cells that request
devices near few selections of cells, or near none.

The search on a host takes longer with more allocation candidates, but their
total number is limited ([scheduler] max_placement_results).  So the cost of a
request is bounded by the longer of two lists: hosts and candidates.
"""

#: Maximum cost of the search on one host, in steps of some 3 microseconds.
MOST = 1000

#: Additional cost allowed for each further allocation candidate.
EACH = 500

#: Cost of the check of devices near a selection: base, and per device request.
VERDICT, REQUEST = 2, 0.67
#: Number of pairs of a pool and a request that cost one step.
PAIRS = 80

#: Cost of the check for enough devices of one kind.
SUPPLY = 1.5

#: Cost per guest cell of the check whether any selection is possible.
LOOK = 10
#: Cost of the check of one guest cell on one host cell.
FIT = 1


class GivenUp(Exception):
    """The search cost too much; the guest counts as not fitting."""


class Effort:
    """The remaining cost allowed for the search on one host.

    is_spent: whether a search was given up.
    """

    def __init__(self, most=MOST):
        self._remaining, self._next, self.is_spent = 0, most, False

    def begin(self):
        """Allow a search with the first or a further candidate."""
        self._remaining = max(self._remaining, 0) + self._next
        self._next = EACH

    def spend(self, steps=1):
        """Subtract steps; raise GivenUp if none remain."""
        self._remaining -= steps
        if self._remaining < 0:
            self.is_spent = True
            raise GivenUp
