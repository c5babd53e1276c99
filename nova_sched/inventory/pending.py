"""The placements in flight that count, by host, now and at earlier moments."""

import collections.abc

#: Changes after which a log begins anew, unless more placements count.
CHANGES = 1000


class PendingByHost:
    """The placements that count on hosts, because no host reports them yet.

    A change, and a view as of this moment, cost a time that does not grow
    with their number.
    """

    def __init__(self):
        self._by_host, self._places = {}, collections.Counter()
        self._by_key, self._log = {}, _Log(())

    def __len__(self):
        return self._places.total()

    @property
    def hosts(self):
        """Names of the hosts that they are on: a set-like view."""
        return self._by_host.keys()

    @property
    def places(self):
        """The (host, node) pairs that they are on: a set-like view."""
        return self._places.keys()

    def by_key(self):
        """Return all of them: a new dict {key: InFlight}."""
        return dict(self._by_key)

    def on(self, host):
        """Return those on a host: {key: InFlight}, not to be changed."""
        return self._by_host.get(host, {})

    def add(self, placed):
        """Count one more, whose key does not count yet."""
        self._by_host.setdefault(placed.host, {})[placed.key] = placed
        self._by_key[placed.key] = placed
        self._places[placed.place] += 1
        self._note(placed, True)

    def remove(self, placed):
        """Stop counting one."""
        on_host = self._by_host[placed.host]
        del on_host[placed.key], self._by_key[placed.key]
        if not on_host:
            del self._by_host[placed.host]
        self._places[placed.place] -= 1
        if not self._places[placed.place]:
            del self._places[placed.place]
        self._note(placed, False)

    def _note(self, placed, counts):
        log = self._log
        log.changes.append((placed, counts))
        if len(log.changes) >= max(CHANGES, len(log.start)):
            self._log = _Log(tuple(self._by_key.values()))

    def view(self, without=()):
        """Return what counts now, whatever changes later: ``PendingView``.

        without: keys that are left out.
        """
        left_out = frozenset(without)
        return PendingView(
            self._log, len(self._log.changes), left_out,
            len(self._by_key) - sum(key in self._by_key for key in left_out))


class _Log:
    """What counted at one moment, and each change since."""

    __slots__ = ('changes', 'start')

    def __init__(self, start):
        self.start, self.changes = start, []


class PendingView(collections.abc.Collection):
    """The placements, InFlight, that counted at one moment.

    Views of many moments share one log, which grows behind them.
    """

    __slots__ = ('_count', '_log', '_until', '_without')

    def __init__(self, log, until, without, count):
        self._log, self._until, self._without = log, until, without
        self._count = count

    def _found(self):
        found = {placed.key: placed for placed in self._log.start}
        for placed, counts in self._log.changes[:self._until]:
            if counts:
                found[placed.key] = placed
            else:
                del found[placed.key]
        return [placed for key, placed in found.items()
                if key not in self._without]

    def __iter__(self):
        return iter(self._found())

    def __len__(self):
        return self._count

    def __contains__(self, placed):
        return placed in self._found()
