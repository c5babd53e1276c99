"""A bound on the search for host cells.

Which cells a guest goes on, with devices and networks near to them, is a
question whose exact answer can take time exponential in the number of cells.
On hosts of up to eight cells the bound is hardly ever met; on larger ones it
is by guests of many cells that ask for devices which few selections, or none,
are near to.

With many allocation candidates a host takes longer than with one, but there
are so many for all hosts together ([scheduler] max_placement_results): what
all the hosts of a request take is bounded by the longer of the two lists.
"""

#: What the search may cost on one host, in steps of some 3 microseconds.
MOST = 1000

#: What it may cost besides for each allocation candidate but the first.
EACH = 500

#: What it costs to see which devices are near to a selection, and for each
#: request for devices.
VERDICT, REQUEST = 2, 0.67
#: So many pairs of a pool and a request cost a step more.
PAIRS = 80

#: What it costs to see whether there are enough devices of one kind.
SUPPLY = 1.5

#: For each guest cell, what it costs to see whether anything can be found.
LOOK = 10
#: What it costs to see whether one guest cell fits on one host cell.
FIT = 1


class GivenUp(Exception):
    """The search has cost too much; the guest counts as not fitting."""


class Effort:
    """What the search on one host may still cost.

    is_spent: whether a search was given up.
    """

    def __init__(self, most=MOST):
        self._left, self._next, self.is_spent = 0, most, False

    def begin(self):
        """Allow for a search, with the first or with another candidate."""
        self._left = max(self._left, 0) + self._next
        self._next = EACH

    def spend(self, steps=1):
        """Take off so many steps; raises GivenUp when none are left."""
        self._left -= steps
        if self._left < 0:
            self.is_spent = True
            raise GivenUp
