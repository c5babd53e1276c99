"""The hosts that can take an instance, best first."""

import functools


class Ranked:
    """The hosts that can take an instance, best first.

    snapshot: HostSnapshot that they are of.  weighed: weights.Weighed.
    drawn: positions in the order of weight, in the order in which to try the
        hosts; None for the order of weight.
    """

    def __init__(self, snapshot, weighed, drawn=None):
        self.snapshot, self.weighed = snapshot, weighed
        self._drawn = drawn

    @classmethod
    def of(cls, hosts, weighed):
        """Return the hosts of a HostBlock in its own order."""
        ranked = cls(hosts.snapshot, weighed)
        ranked.hosts = hosts
        return ranked

    @functools.cached_property
    def hosts(self):
        """All of them: HostBlock."""
        return self.snapshot.block(self.weighed.given[self.order])

    @functools.cached_property
    def order(self):
        """Where each stands in what was weighed: int (n,)."""
        order = self.weighed.order
        return order if self._drawn is None else order[self._drawn]

    def nodes_of(self, host):
        """Return those that are nodes of one host: HostBlock."""
        names, rows = self.snapshot.column('host'), self.weighed.given
        return self.snapshot.block(
            rows[names.codes.take(rows) == names.code(host)])

    def __len__(self):
        return len(self.hosts if 'hosts' in self.__dict__
                   else self.weighed.given)

    def rows(self):
        """Yield the table rows, without sorting more than are asked for."""
        known = self._head
        yield from known
        if len(known) < len(self):
            yield from self.hosts.rows[len(known):].tolist()

    @functools.cached_property
    def _head(self):
        """The rows of the best hosts: list, empty where all are in order."""
        if self._drawn is not None or 'hosts' in self.__dict__:
            return []
        return self.weighed.given[self.weighed.head].tolist()
