"""A bound on the search for host cells.

Which cells a guest goes on, with devices and networks near to them, is a
question whose exact answer can take time exponential in the number of cells.
On hosts of up to eight cells the bound is hardly ever met; on larger ones it
is by guests of many cells that ask for devices which few selections, or none,
are near to.
"""

#: What the search may cost on one host, with all its allocation candidates,
#: in steps of some 3 microseconds.
MOST = 1000

#: What devices are taken for a selection costs, whatever they are.
VERDICT = 4
#: So many pairs of a pool and a request cost a step more.
PAIRS = 100


#: For each guest cell, what it costs to see whether anything can be found.
LOOK = 10


class GivenUp(Exception):
    """The search has cost too much; the guest counts as not fitting."""


class Effort:
    """What the search on one host may still cost."""

    def __init__(self, most=MOST):
        self._left = most

    @property
    def is_spent(self):
        """Whether a search was given up."""
        return self._left < 0

    def spend(self, steps=1):
        """Take off so many steps; raises GivenUp when none are left."""
        self._left -= steps
        if self._left < 0:
            raise GivenUp
