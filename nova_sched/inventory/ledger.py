"""The ledger: instances placed on a host which does not show them yet.

Without an entry here, the next request would get the same room again until
the compute service reports the instance, and would not see a new member of
its server group.  An entry is

- *assumed* when a request picks a host, and counts on the host from then on;
- *claimed* when Placement has granted the claim and counts it: the entry then
  ends, except for a member of a server group and for NUMA cells and PCI
  devices, which Placement does not count;
- *forgotten* when the claim is refused or the request fails;
- *shown* when its instance is on the host in the database and the host's row
  accounts for it (``UsageDelta``), or GRACE seconds later.  The entry also
  ends when its instance shows on a host that is neither the pick nor the
  instance's previous host, or leaves the pick again.

Every entry ends after its lifetime.  An entry of a server group stays that
long even if it is claimed and shown, because callers send the group's hosts
as of an earlier read.
"""

import collections
import dataclasses
import heapq
import itertools

from nova_sched.inventory.in_flight import PlacedInstance

#: Seconds after which an instance that shows on its host counts as part of
#: the host's usage, even if the host's row is unchanged.
GRACE = 1.0

#: Stands for the host of an instance that was not looked up yet.
UNSEEN = object()

#: Maximum number of places, instances and groups whose last entry is known.
MOST_NAMES = 20_000

#: Maximum number of entries; the oldest are forgotten.
MOST_ENTRIES = 20_000

#: Maximum number of ended entries that are remembered, in case that news of
#: them arrives late or twice.
MOST_ENDED = 2000


@dataclasses.dataclass(slots=True, eq=False)
class Entry:
    """A PlacedInstance and its state.

    counts: whether it is subtracted from its host, which does not show it.
    claimed: whether Placement has granted its claim, and counts it.
    shown: when the instance was first seen on its host.
    elsewhere: another host that the instance was on at the first look-up;
        None for no host, UNSEEN before the first look-up.
    """

    placed: PlacedInstance
    counts: bool = True
    claimed: bool = False
    shown: float | None = None
    elsewhere: object = UNSEEN

    @property
    def is_under_way(self):
        """Whether its claim was sent and Placement has not granted it yet."""
        return bool(self.placed.allocations) and not self.claimed

    def is_of(self, place, at):
        """Return whether it was assumed on a (host, node) at a moment."""
        return self.placed.place == place and self.placed.at == at

    def likely_order(self):
        """Return a sort key: entries that hosts probably report first."""
        return self.shown is None, self.shown or 0.0, self.placed.at


class Ledger:
    """The entries of one process; callers hold a lock.

    providers: placement.mirror.providers.Providers, in which claims under way
        are counted; None without a mirror of Placement.
    added: number of entries ever added.
    """

    def __init__(self):
        self.added, self.providers = 0, None
        # By key, the least recently looked up first.
        self._entries = collections.OrderedDict()
        # Counting entries by key and by host; all entries by server group.
        self._counting, self._by_host, self._by_group = {}, {}, {}
        # Heap of (end, number, key, when assumed), also of ended entries.
        self._ends_at, self._numbers = [], itertools.count()
        # Place, instance or group -> number of its last entry, in order; the
        # highest number that was dropped from it.
        self._last, self._oldest = collections.OrderedDict(), 0
        # Key -> (when assumed, place) of its last ended entry, in order.
        self._ended = collections.OrderedDict()

    def get(self, key):
        """Return the Entry of an instance, or None."""
        return self._entries.get(key)

    def entries(self):
        """Return all entries: list of Entry."""
        return list(self._entries.values())

    def counting(self, without=()):
        """Return the picks that count on hosts, by key: a new dict.

        without: keys to leave out.
        """
        return {key: entry.placed for key, entry in self._counting.items()
                if key not in without}

    def count(self):
        """Return the number of entries that count on hosts."""
        return len(self._counting)

    def places(self):
        """Return the (host, node) of all counting entries: set."""
        return {entry.placed.place for entry in self._counting.values()}

    def hosts(self):
        """Return the names of hosts with counting entries: set-like."""
        return self._by_host.keys()

    def on(self, host):
        """Return the entries that count on a host: {key: Entry}."""
        return self._by_host.get(host, {})

    def of_group(self, group, members=()):
        """Return the entries of a server group: {key: Entry}.

        group: its key, or None.  members: keys of further instances.
        """
        entries = dict(self._by_group.get(group, {}))
        for key in members:
            if key in self._entries:
                entries[key] = self._entries[key]
        return entries

    def add(self, entry, until):
        """Add an entry; it replaces an entry of the same instance.

        until: when it ends at the latest, as ``now`` of ``expire``.
        Returns the places of changed entries: set.
        """
        placed = entry.placed
        places = {placed.place}
        if placed.key in self._entries:
            places.add(self._entries[placed.key].placed.place)
            self.drop(self._entries[placed.key])
        while len(self._entries) >= MOST_ENTRIES:
            places |= self._end_oldest()
        self._entries[placed.key] = entry
        heapq.heappush(self._ends_at, (
            until, next(self._numbers), placed.key, placed.at))
        if entry.counts:
            self._counting[placed.key] = entry
            self._by_host.setdefault(placed.host, {})[placed.key] = entry
        if placed.group is not None:
            self._by_group.setdefault(placed.group, {})[placed.key] = entry
        if entry.is_under_way and self.providers is not None:
            self.providers.assume(placed.allocations)
        self.added += 1
        for name in (placed.place, placed.key, placed.group):
            if name is not None:
                self._last[name] = self.added
                self._last.move_to_end(name)
        while len(self._last) > MOST_NAMES:
            _, self._oldest = self._last.popitem(last=False)
        return places

    def drop(self, entry):
        """Remove an entry."""
        self.uncount(entry)
        placed = entry.placed
        if entry.is_under_way and self.providers is not None:
            self.providers.forget(placed.allocations)
        self._entries.pop(placed.key, None)
        if placed.group is not None:
            group = self._by_group.get(placed.group, {})
            if group.pop(placed.key, None) and not group:
                del self._by_group[placed.group]

    def is_new(self, placed):
        """Return whether a PlacedInstance is neither known nor outdated."""
        entry = self._entries.get(placed.key)
        at, place = self._ended.get(placed.key, (placed.at, None))
        if placed.at < at or (placed.at, placed.place) == (at, place):
            return False
        return entry is None or (
            entry.placed.at <= placed.at
            and not entry.is_of(placed.place, placed.at))

    def end(self, key, place, at, claimed):
        """End the entry of an instance that was assumed at a place and time.

        An earlier entry of the instance ends as well.
        claimed: whether Placement has granted its claim; the entry then goes
            on for its server group and hardware.
        Returns the (host, node) of the changed entry, or None.
        """
        entry, ended = self._entries.get(key), None
        if entry is not None and (entry.is_of(place, at)
                                  or entry.placed.at < at):
            ended = entry.placed.place
            if claimed and entry.is_of(place, at):
                if entry.is_under_way and self.providers is not None:
                    self.providers.claimed(entry.placed.allocations)
                entry.claimed = True
                if entry.placed.group or entry.placed.takes_hardware:
                    return ended
            self.drop(entry)
        self._ended[key] = max(self._ended.get(key, (at, place)), (at, place))
        self._ended.move_to_end(key)
        while len(self._ended) > MOST_ENDED:
            self._ended.popitem(last=False)
        return ended

    def take_ends(self, other):
        """End the entries that ended in another Ledger; return their places.
        """
        return {self.end(key, place, at, claimed=False)
                for key, (at, place) in other._ended.items()} - {None}

    def uncount(self, entry):
        """Stop counting an entry on its host."""
        if not entry.counts:
            return
        entry.counts = False
        placed = entry.placed
        on_host = self._by_host[placed.host]
        del on_host[placed.key], self._counting[placed.key]
        if not on_host:
            del self._by_host[placed.host]

    def expire(self, now):
        """Remove expired entries; return their places."""
        places = set()
        while self._ends_at and now >= self._ends_at[0][0]:
            places |= self._end_oldest()
        return places

    def _end_oldest(self):
        """Remove the entry with the earliest end; return its place: set.

        The set is empty if the entry has ended already.
        """
        _, _, key, at = heapq.heappop(self._ends_at)
        entry = self._entries.get(key)
        if entry is None or entry.placed.at != at:
            return set()
        self.drop(entry)
        return {entry.placed.place}

    def see(self, entry, host, delta, now):
        """Record on which host the database shows the instance of an entry.

        host: its name, or None.  delta: UsageDelta of the read.
        Returns whether the entry stops counting.
        """
        placed = entry.placed
        if host == placed.host:
            if entry.shown is None:
                entry.shown = now
            if not entry.counts or not (
                    delta.accounts_for(placed)
                    or now - entry.shown >= GRACE):
                return False
            self.uncount(entry)
            if placed.group is None:
                self._end(placed)
            return True
        if entry.elsewhere is UNSEEN:
            entry.elsewhere = host
        if entry.shown is None and host in (None, entry.elsewhere):
            # Not built yet, or still on the host that it leaves.
            return False
        self._end(placed)
        return True

    def _end(self, placed):
        self.end(placed.key, placed.place, placed.at, claimed=False)

    def due(self, count):
        """Return the keys of the least recently looked up entries: list.

        They are marked as looked up.
        """
        keys = list(itertools.islice(self._entries, count))
        for key in keys:
            self._entries.move_to_end(key)
        return keys

    def has_more(self, names, number):
        """Return whether an entry for any of some names was added since.

        True as well if the ledger no longer knows.
        names: places, instance keys and groups.
        number: ``added`` at the earlier moment.
        """
        if number < self._oldest:
            return True
        return any(self._last.get(name, 0) > number for name in names)
