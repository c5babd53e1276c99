"""The ledger: instances that were given a host which does not show them yet.

Without an entry here, the next request would be given the same room again
until the compute service reports the instance, and would not know of a new
member of its server group.  An entry is

- *assumed* when a request picks a host, and counts on the host from then on;
- *claimed* when Placement has granted the claim and counts it: the entry ends
  then.  It stays for its server group, and for the NUMA cells and PCI devices
  that it takes, which Placement does not count;
- *forgotten* when the claim is refused or the request fails;
- *shown* when its instance is on the host in the database and the host's row
  accounts for it (``UsageDelta``), or GRACE seconds later; an instance that
  moves to another host than before ends its entry as well.

An entry ends at the latest after its lifetime.  Entries of server groups stay
for their lifetime, counted or not: callers name the hosts of a group as of
when they read it.
"""

import collections
import dataclasses
import heapq
import itertools

from nova_sched.inventory.in_flight import InFlight

#: Seconds after which an instance that shows on its host counts as part of
#: the host's usage, whatever the host's row says.
GRACE = 1.0

#: In place of the host of an instance that was not looked up yet.
UNSEEN = object()

#: Places, instances and groups whose last entry is known at most.
MOST_NAMES = 20_000

#: Entries at most; of more, the oldest are forgotten.
MOST_ENTRIES = 20_000

#: Instances whose last entry that has ended is remembered, in case that the
#: news of its being assumed, or of an earlier one, comes late or again.
MOST_ENDED = 2000


@dataclasses.dataclass(slots=True, eq=False)
class Entry:
    """An InFlight instance, and what is known of it since.

    counts: whether its host does not show it yet.
    claimed: whether Placement has granted its claim, and counts it.
    shown: when the instance was first seen on its host.
    elsewhere: the other host that the instance was on when it was first
        looked up; None for none, UNSEEN before that.
    host: name of its host.
    """

    placed: InFlight
    counts: bool = True
    claimed: bool = False
    shown: float | None = None
    elsewhere: object = UNSEEN
    host: str = dataclasses.field(init=False)

    def __post_init__(self):
        self.host = self.placed.host

    def instance(self):
        """Return what is known of its instance: objects.Instance."""
        return self.placed.instance()

    @property
    def is_under_way(self):
        """Whether it is being claimed in Placement."""
        return bool(self.placed.allocations) and not self.claimed

    def is_of(self, place, at):
        """Return whether it was assumed at a (host, node) at a time."""
        return self.placed.place == place and self.placed.at == at

    def likely_order(self):
        """Return a sort key: those first that hosts report first, likely."""
        return self.shown is None, self.shown or 0.0, self.placed.at


class Ledger:
    """The entries of one process; callers hold a lock.

    providers: placement.mirror.providers.Providers, in which claims that are
        under way count; None without a copy of Placement.
    added: how many entries have been added.
    """

    def __init__(self):
        self.added, self.providers = 0, None
        # By key, those looked up longest ago first.
        self._entries = collections.OrderedDict()
        # Those that count, by key and by host; all, by server group; how
        # many count at each (host, node).
        self._counting, self._by_host, self._by_group = {}, {}, {}
        self._places = collections.Counter()
        # (when it ends, number, key, when assumed) of all that were: a heap.
        self._ends_at, self._numbers = [], itertools.count()
        # Place, instance or group -> number of its last entry, in order; the
        # number up to which they are not known any more.
        self._last, self._oldest = collections.OrderedDict(), 0
        # Key -> (when assumed, place) of the last that has ended, in order.
        self._ended = collections.OrderedDict()

    def __contains__(self, key):
        return key in self._entries

    def __len__(self):
        return len(self._entries)

    def get(self, key):
        """Return the Entry of an instance, or None."""
        return self._entries.get(key)

    def entries(self):
        """Return all entries: list of Entry."""
        return list(self._entries.values())

    def counting(self, without=()):
        """Return the entries that count on hosts: a new dict {key: Entry}.

        without: keys that are left out.
        """
        found = dict(self._counting)
        for key in without:
            found.pop(key, None)
        return found

    def count(self):
        """Return how many entries count on hosts."""
        return len(self._counting)

    def places(self):
        """Return where entries count: set of (host, node)."""
        return set(self._places)

    def hosts(self):
        """Return the names of the hosts where entries count: set-like."""
        return self._by_host.keys()

    def on(self, host):
        """Return the entries that count on a host: {key: Entry}."""
        return self._by_host.get(host, {})

    def of_group(self, group, members=()):
        """Return the entries of a server group: {key: Entry}.

        group: its key, or None.  members: keys of more instances.
        """
        found = dict(self._by_group.get(group, {}))
        for key in members:
            if key in self._entries:
                found[key] = self._entries[key]
        return found

    def add(self, entry, until):
        """Add an entry, in place of any other one of its instance.

        until: when it ends at the latest, as ``now`` of ``expire``.
        Returns the places where entries ended for it: set.
        """
        placed = entry.placed
        ended = set()
        if placed.key in self._entries:
            self.drop(self._entries[placed.key])
        while len(self._entries) >= MOST_ENTRIES:
            ended |= self._end_oldest()
        self._entries[placed.key] = entry
        heapq.heappush(self._ends_at, (
            until, next(self._numbers), placed.key, placed.at))
        if entry.counts:
            self._counting[placed.key] = entry
            self._by_host.setdefault(placed.host, {})[placed.key] = entry
            self._places[placed.place] += 1
        if placed.group is not None:
            self._by_group.setdefault(placed.group, {})[placed.key] = entry
        if entry.is_under_way and self.providers is not None:
            self.providers.assume(placed.allocations)
        self._note(placed)
        return ended

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
        """Return whether an InFlight is neither known nor out of date."""
        entry = self._entries.get(placed.key)
        at, place = self._ended.get(placed.key, (placed.at, None))
        if placed.at < at or (placed.at, placed.place) == (at, place):
            return False
        return entry is None or (
            entry.placed.at <= placed.at
            and not entry.is_of(placed.place, placed.at))

    def end(self, key, place, at, claimed):
        """End what was assumed for an instance at a place and a time.

        An earlier entry of the instance ends as well.
        claimed: whether Placement has granted its claim: what that does not
            count goes on.
        Returns where an entry ended: (host, node), or None.
        """
        entry, ended = self._entries.get(key), None
        if entry is not None and (entry.is_of(place, at)
                                  or entry.placed.at < at):
            ended = entry.placed.place
            if claimed and entry.is_of(place, at):
                self._claim(entry)
                if entry.placed.group or entry.placed.takes_hardware:
                    return ended
            self.drop(entry)
        self._ended[key] = max(self._ended.get(key, (at, place)), (at, place))
        self._ended.move_to_end(key)
        while len(self._ended) > MOST_ENDED:
            self._ended.popitem(last=False)
        return ended

    def take_ends(self, other):
        """End what has ended in another Ledger; return where: set."""
        return {self.end(key, place, at, claimed=False)
                for key, (at, place) in other._ended.items()} - {None}

    def _claim(self, entry):
        if entry.is_under_way and self.providers is not None:
            self.providers.claimed(entry.placed.allocations)
        entry.claimed = True

    def uncount(self, entry):
        """Have an entry stop counting on its host."""
        if not entry.counts:
            return
        entry.counts = False
        placed = entry.placed
        on_host = self._by_host[placed.host]
        del on_host[placed.key], self._counting[placed.key]
        if not on_host:
            del self._by_host[placed.host]
        self._places[placed.place] -= 1
        if not self._places[placed.place]:
            del self._places[placed.place]

    def expire(self, now):
        """Remove the entries that have lasted too long; return their places.
        """
        places = set()
        while self._ends_at and now >= self._ends_at[0][0]:
            places |= self._end_oldest()
        return places

    def _end_oldest(self):
        """Remove the entry that would end first; return its place: set.

        It is empty for one that has ended before.
        """
        _, _, key, at = heapq.heappop(self._ends_at)
        entry = self._entries.get(key)
        if entry is None or entry.placed.at != at:
            return set()
        self.drop(entry)
        return {entry.placed.place}

    def see(self, entry, host, delta, now):
        """Note where the database has the instance of an entry.

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
            # Not built yet, or on its way from where it was before.
            return False
        self._end(placed)
        return True

    def _end(self, placed):
        self.end(placed.key, placed.place, placed.at, claimed=False)

    def due(self, count):
        """Return the entries that were looked up longest ago: list of keys.

        They count as looked up from now on.
        """
        keys = list(itertools.islice(self._entries, count))
        for key in keys:
            self._entries.move_to_end(key)
        return keys

    def has_more(self, names, number):
        """Return whether entries were added since a number of them.

        number: an earlier ``added``.
        names: places, instances and groups that the entries would be of.
        """
        if number < self._oldest:
            return True
        return any(self._last.get(name, 0) > number for name in names)

    def _note(self, placed):
        self.added += 1
        for name in (placed.place, placed.key, placed.group):
            if name is not None:
                self._last[name] = self.added
                self._last.move_to_end(name)
        while len(self._last) > MOST_NAMES:
            _, self._oldest = self._last.popitem(last=False)
