"""What hosts have come to report of the instances placed on them."""

#: Seconds after which an instance that shows on its host is in the host's
#: row, too, though the row does not tell of it.
GRACE = 1.0


class Reported:
    """The memory that hosts' rows tell to be taken since the read before.

    before, now: the HostTable of both reads.

    A row that changes tells of some instance: a compute service that has two
    of them on the way writes the host of the second one before the row that
    counts it, maybe just after the row that counts the first. So each pick
    has to find its own memory.
    """

    def __init__(self, before, now):
        self._before, self._now = before, now
        # (host, node) -> MB that no pick has found to be its own.
        self._left = {}

    def tells_of(self, pick):
        """Whether a pick's host has its memory taken: it is the pick's then.

        False for a host that was not there before.
        """
        place, memory_mb = pick.place, pick.demand.memory_mb
        if place not in self._left:
            self._left[place] = self._taken(*place)
        if self._left[place] < max(1, memory_mb):
            return False
        self._left[place] -= memory_mb
        return True

    def _taken(self, *place):
        free = []
        for table in (self._before, self._now):
            row = table.row(*place)
            if row is None:
                return float('-inf')
            free.append(table.columns['free_ram_mb'].item(row))
        return free[0] - free[1]
