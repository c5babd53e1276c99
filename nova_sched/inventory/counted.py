"""The picks in flight that count, by host, now and at earlier moments."""

import collections.abc

#: Changes after which a log begins anew, unless more picks count than that.
CHANGES = 1000


class Counted:
    """The picks that count on the hosts: what no host reports yet.

    Changing it, and telling what counts at this moment, takes a time that
    does not grow with their number.
    """

    def __init__(self):
        self._by_host, self._places = {}, collections.Counter()
        self._log = _Log(())

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

    def on(self, host):
        """Those on a host: {key: InFlight}; not to be changed."""
        return self._by_host.get(host, {})

    def add(self, pick):
        """Have one more count, of a key of which none does."""
        self._by_host.setdefault(pick.host, {})[pick.key] = pick
        self._places[pick.place] += 1
        self._note(pick, True)

    def remove(self, pick):
        """Have one count no more."""
        on_host = self._by_host[pick.host]
        del on_host[pick.key]
        if not on_host:
            del self._by_host[pick.host]
        self._places[pick.place] -= 1
        if not self._places[pick.place]:
            del self._places[pick.place]
        self._note(pick, False)

    def _note(self, pick, counts):
        log = self._log
        log.changes.append((pick, counts))
        if len(log.changes) >= max(CHANGES, len(log.start)):
            self._log = _Log(tuple(
                pick for on_host in self._by_host.values()
                for pick in on_host.values()))

    def moment(self, without=()):
        """What counts now, whatever is changed later: ``Moment``.

        without: keys that are left out.
        """
        return Moment(self._log, len(self._log.changes), frozenset(without))


class _Log:
    """What counted at some moment, and each change since."""

    __slots__ = ('changes', 'start')

    def __init__(self, start):
        self.start, self.changes = start, []


class Moment(collections.abc.Collection):
    """The picks, InFlight, that counted at one moment.

    Those of many moments share one log, which grows behind them.
    """

    __slots__ = ('_log', '_until', '_without')

    def __init__(self, log, until, without):
        self._log, self._until, self._without = log, until, without

    def _found(self):
        found = {pick.key: pick for pick in self._log.start}
        for pick, counts in self._log.changes[:self._until]:
            if counts:
                found[pick.key] = pick
            else:
                del found[pick.key]
        return [pick for key, pick in found.items()
                if key not in self._without]

    def __iter__(self):
        return iter(self._found())

    def __len__(self):
        return len(self._found())

    def __contains__(self, pick):
        return pick in self._found()
