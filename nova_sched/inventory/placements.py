"""What was placed and no host reports yet.

Without a claim in Placement nothing else remembers an instance until it shows
on its host in the database, and the next request would be given the same room
again; with one, nothing else remembers that it is in its server group.  So
each process keeps the placements in flight, and its own are told to the other
workers of the service (``shared_picks.py``) and to other daemons
(``peers.py``):

1. A request takes a ``view``: the hosts as last read, less what is in flight
   on them, by whomever.  The request's own instances do not count: a call
   that is repeated must not count twice.
2. ``commit`` adds what was placed, unless another request has taken some of
   it since the view; then the request is decided anew, a few times.
3. Each read of the hosts says which of their rows changed
   (``uuids_to_look_up``) and where the instances are that were placed there,
   as of the same moment (``rebase``).  A placement stops counting when its
   instance shows on the host and the host's row accounts for it
   (``UsageDelta``), or GRACE seconds later; when it shows on another host
   than before; and at the latest when its lifetime is over.

Callers say which hosts a server group is on as of when they asked, so the
placements of a group are remembered for its other requests, whether they
count or not.
"""

import collections
import contextlib
import dataclasses
import heapq
import itertools
import threading

from oslo_log import log as logging

from nova_sched.hosts.table import HostTable
from nova_sched.inventory import usage
from nova_sched.inventory.decision_lock import PATIENCE
from nova_sched.inventory.decision_lock import DecisionLock
from nova_sched.inventory.in_flight import GRACE
from nova_sched.inventory.in_flight import UNSEEN
from nova_sched.inventory.in_flight import TrackedPlacement
from nova_sched.inventory.in_flight import UsageDelta
from nova_sched.inventory.in_flight import is_uuid
from nova_sched.inventory.pending import PendingByHost
from nova_sched.inventory.shared_picks import NotShared

LOG = logging.getLogger(__name__)

#: Placements that are looked for per second though their hosts report nothing
#: new.
LOOKED_FOR = 1000

#: Commits that are remembered to be compared with views from before them.
REMEMBERED = 1000

#: Placements that are remembered to have been taken back.
VOID = 2000


@dataclasses.dataclass(frozen=True)
class View:
    """The hosts as one decision sees them.

    table: HostTable with what is in flight.
    in_flight: the placements that count in it, a pending.PendingView.
    own: keys of the request's own placements.
    version: number of changes before it.
    whole: the HostTable in which own placements count as well.
    """

    table: HostTable
    in_flight: tuple
    own: tuple
    version: int
    whole: HostTable


class InFlightPlacements:
    """The placements in flight of one process, on the hosts as last read.

    lifetime: seconds that a placement counts at most.
    clock: function that returns seconds since the epoch.
    pack_numa_cells: as of HostSnapshot.
    """

    def __init__(self, lifetime, clock, pack_numa_cells=False):
        self._lifetime, self._clock = lifetime, clock
        self._pack_numa_cells = pack_numa_cells
        self._lock = threading.RLock()
        self._decision_lock = DecisionLock(self._lock)
        self._base = self._table = HostTable.from_records([])
        self._tracked = collections.OrderedDict()
        self._pending, self._by_group = PendingByHost(), {}
        # (when placed, number, key) of all that were: a heap.
        self._placed_at, self._numbers = [], itertools.count()
        self._version, self._commits = 0, collections.deque(maxlen=REMEMBERED)
        # Those that were taken back lately, by id.
        self._void = collections.OrderedDict()
        self._changed, self._looked, self._swept = set(), None, 0.0
        self._closed, self._sharing = False, NotShared()

    def share(self, sharing):
        """Have in flight what others tell: a shared_picks.Sharing."""
        self._sharing = sharing

    # Reading: what a watcher of the host cache does.

    def wait_idle(self, seconds):
        """Wait until no request is being decided, for so long at most."""
        self._decision_lock.wait_idle(seconds)

    def uuids_to_look_up(self, hosts):
        """Return the instances to look for when rows of hosts changed: list.

        hosts: names of these hosts, a set.
        """
        with self._lock:
            # First, so that what was told before the read is looked for.
            self._catch_up()
            self._changed |= hosts
            if self._looked is None:
                self._looked = self._due()
            return [*dict.fromkeys([*self._looked, *(
                key for host in self._pending.hosts & hosts
                for key in self._pending.on(host) if is_uuid(key))])]

    def _due(self):
        """Return the next of those that are looked for regularly: list."""
        now = self._clock()
        count = int(min(now - self._swept, self._lifetime) * LOOKED_FOR)
        if count < LOOKED_FOR * GRACE:
            return []
        self._swept = now
        due = [key for key, _ in zip(self._tracked, range(count),
                                     strict=False)]
        for key in due:
            self._tracked.move_to_end(key)
        return [key for key in due if is_uuid(key)]

    def rebase(self, table, located):
        """Take the hosts as read; return the HostTable with what is in flight.

        located: uuid -> host or None, of all that ``uuids_to_look_up`` named.
        """
        with self._lock:
            changed, self._changed, self._looked = self._changed, set(), None
            now, delta = self._clock(), UsageDelta(self._base, table)
            places = self._expire(now)
            for tracked in sorted((
                    self._tracked[key] for key in located
                    if key in self._tracked),
                    key=TrackedPlacement.likely_order):
                if self._look_at(tracked, located[tracked.placed.key],
                                 delta, now):
                    places.add(tracked.placed.place)
            if table.columns is self._base.columns and not places:
                self._base = table
                self._table = self._table.of_cells(table.cells)
            else:
                self._take(table, changed, places)
            return self._table

    def _expire(self, now):
        """Forget what is in flight for too long; return where it counts."""
        places = set()
        while (self._placed_at
               and now - self._placed_at[0][0] > self._lifetime):
            at, _, key = heapq.heappop(self._placed_at)
            tracked = self._tracked.get(key)
            if tracked is not None and tracked.placed.at == at:
                self._uncount(tracked)
                self._forget(tracked.placed)
                places.add(tracked.placed.place)
        return places

    def _look_at(self, tracked, host, delta, now):
        """Return whether a placement stops counting: its instance is seen."""
        placed = tracked.placed
        if host == placed.host:
            if tracked.shown is None:
                tracked.shown = now
            if not tracked.counts or not (
                    delta.accounts_for(placed)
                    or now - tracked.shown >= GRACE):
                return False
            self._uncount(tracked)
            if placed.group is None:
                self._forget(placed)
            return True
        if tracked.elsewhere is UNSEEN:
            tracked.elsewhere = host
        if tracked.shown is None and host in (None, tracked.elsewhere):
            # Not built yet, or on its way from where it was before.
            return False
        self._uncount(tracked)
        self._forget(placed)
        return True

    def _uncount(self, tracked):
        if tracked.counts:
            tracked.counts = False
            self._pending.remove(tracked.placed)

    def _forget(self, placed):
        self._tracked.pop(placed.key, None)
        if placed.group is not None:
            group = self._by_group.get(placed.group, {})
            if group.pop(placed.key, None) and not group:
                del self._by_group[placed.group]

    def _take(self, table, changed, places):
        """Put what is in flight on a table of other values."""
        before, self._base = self._table, table
        counted = set(self._pending.places)
        kept = [(before.row(*place), table.row(*place), place)
                for place in counted
                if place[0] not in changed and place not in places]
        kept = [item for item in kept if None not in item]
        self._table = usage.copy_usage(table, before, kept)
        anew = counted - {place for _, _, place in kept}
        if anew:
            self._table = self._placed(self._table, anew)

    # Deciding.

    @contextlib.contextmanager
    def lock(self, exclusive=0):
        """Return the context that requests are decided in: a Turn.

        exclusive: how many times the request has been decided with nobody
            else committing meanwhile, this time included; 0 to decide it in
            turn with others.
        """
        mine = (self._decision_lock.exclusive(exclusive) if exclusive
                else self._decision_lock.shared())
        with mine as turn, self._sharing.turn(PATIENCE):
            yield turn

    @property
    def table(self):
        """The hosts with all that is in flight: HostTable."""
        return self._table

    @property
    def as_read(self):
        """The hosts without what is in flight: HostTable."""
        return self._base

    def view(self, keys):
        """Return the View for a request with placements of these keys."""
        with self._lock:
            self._catch_up()
            own = tuple(key for key in keys if key in self._tracked)
            table = self._table
            counted = [self._tracked[key].placed for key in own
                       if self._tracked[key].counts]
            if counted:
                table = self._redone(
                    table, {placed.place for placed in counted},
                    without=set(own))
            return View(table, self._pending.view(without=own), own,
                        self._version, self._table)

    def commit(self, view, placements, snapshot, related=frozenset(),
               anyway=False):
        """Put placements in flight; return False to have them decided anew.

        view: the View that they were decided on.  placements: list of
            InFlight.
        snapshot: HostSnapshot of the view with the placements consumed.
        related: keys of instances and groups that the decision depends on.
        anyway: whether they are put in flight though others have taken it.
        """
        with self._lock:
            self._decision_lock.wait_for_exclusive()
            with self._sharing.alone():
                self._catch_up()
                taken = self._is_taken(view, placements, related)
                if self._closed or (taken and not anyway):
                    return False
                self._sharing.tell((view.own, placements, ()))
            places = self._places_of(placements)
            places |= self._replace(view.own, placements)
            # Of an instance that is named twice, one placement is left.
            distinct = {placed.key for placed in placements}
            unchanged = (view.whole.columns is self._table.columns
                         and not snapshot.writes
                         and not any(placed.claimed for placed in placements)
                         and len(distinct) == len(placements))
            self._note(places, placements)
            self._table = (snapshot.as_table() if unchanged
                           else self._redone(self._table, places))
        if taken:
            LOG.info('Placed on %s though other requests have changed, each '
                     'time that this one was decided, what it depends on: '
                     'room there, or a server group',
                     ', '.join(sorted({each.host for each in placements})))
        return True

    def _catch_up(self):
        """Put in flight what others have told; lock held."""
        places = set()
        for own, placements, taken_back in self._sharing.news():
            # Other daemons may tell it twice, and late.
            new = [placed for placed in placements if self._is_new(placed)]
            old = {placed.key for placed in placements
                   if not self._is_new(placed)}
            gone = {*own, *(placed.key for placed in new)} - old
            touched = self._places_of(new) | self._replace(gone, new)
            for key, place, at in taken_back:
                if self._knows(key, place, at):
                    self._take_out(self._tracked[key])
                    touched.add(place)
            self._note(touched, new)
            places |= touched
        if places:
            self._table = self._redone(self._table, places)

    def _is_new(self, placed):
        """Return whether an InFlight is neither known nor out of date."""
        tracked = self._tracked.get(placed.key)
        return tracked is None or (
            tracked.placed.at <= placed.at
            and not self._knows(placed.key, placed.place, placed.at))

    def _knows(self, key, place, at):
        """Return whether an instance was placed there and then."""
        tracked = self._tracked.get(key)
        return tracked is not None and (
            tracked.placed.place, tracked.placed.at) == (place, at)

    @staticmethod
    def _places_of(placements):
        return {placed.place for placed in placements}

    def take_back(self, placements):
        """Take these placements, a list of InFlight, out of flight."""
        with self._lock:
            self._decision_lock.wait_for_exclusive()
            found = [placed for placed in placements
                     if (tracked := self._tracked.get(placed.key)) is not None
                     and tracked.placed is placed]
            if not found:
                return
            for placed in found:
                self._take_out(self._tracked[placed.key])
            self._sharing.tell(((), (), [
                (placed.key, placed.place, placed.at) for placed in found]))
            places = self._places_of(found)
            self._note(places, found)
            self._table = self._redone(self._table, places)

    def _take_out(self, tracked):
        """Take a placement out of flight, for good."""
        self._uncount(tracked)
        self._forget(tracked.placed)
        self._void[id(tracked.placed)] = tracked.placed
        while len(self._void) > VOID:
            self._void.popitem(last=False)

    def standing(self, pending):
        """Return what ``pending`` said before, less what was taken back."""
        with self._lock:
            void = {placed.key for placed in self._void.values()
                    if pending.get(placed.key) is placed}
        return {key: placed for key, placed in pending.items()
                if key not in void} if void else pending

    def _note(self, places, placements):
        """Remember one more change, for views from before it."""
        self._version += 1
        self._commits.append((self._version, places, {
            name for placed in placements
            for name in (placed.key, placed.group)
            if name is not None}))

    def _is_taken(self, view, placements, related):
        """Return whether commits since a view touch what was decided on it.

        Room on a host is Placement's matter where it is claimed there.
        """
        places = self._places_of(placed for placed in placements
                                 if not placed.claimed)
        if self._version - view.version > len(self._commits):
            return True
        since = itertools.takewhile(lambda commit: commit[0] > view.version,
                                    reversed(self._commits))
        return any(places & others or related & names
                   for _, others, names in since)

    def _replace(self, own, placements):
        """Replace placements of the same request; return where they count."""
        places = set()
        for key in own:
            tracked = self._tracked.get(key)
            if tracked is not None:
                places.add(tracked.placed.place)
                self._uncount(tracked)
                self._forget(tracked.placed)
        for placed in placements:
            self._track(TrackedPlacement(placed))
        return places

    def _track(self, tracked):
        """Remember one more placement, in place of any of the same key."""
        placed = tracked.placed
        if placed.key in self._tracked:
            self._uncount(self._tracked[placed.key])
            self._forget(self._tracked[placed.key].placed)
        self._tracked[placed.key] = tracked
        heapq.heappush(self._placed_at, (
            placed.at, next(self._numbers), placed.key))
        if tracked.counts:
            self._pending.add(placed)
        if placed.group is not None:
            self._by_group.setdefault(placed.group, {})[placed.key] = placed

    def of_group(self, group, members):
        """Return the placements of a server group: list of InFlight.

        group: its key, or None.  members: uuids.
        """
        with self._lock:
            self._catch_up()
            found = dict(self._by_group.get(group, {}))
            for uuid in members:
                if uuid in self._tracked:
                    found[uuid] = self._tracked[uuid].placed
            return list(found.values())

    def pending(self, without=()):
        """Return what is in flight and counts: a new dict {uuid: InFlight}.

        without: keys that are left out.
        """
        with self._lock:
            self._catch_up()
            found = self._pending.by_key()
        for key in without:
            found.pop(key, None)
        return found

    # Handing on.

    def take_over(self, predecessor):
        """Put in flight what another host manager has in flight.

        Nothing is committed there from then on.
        """
        with predecessor._lock:
            with self._lock:
                # Before: what was told is not to count once more.
                self._catch_up()
            predecessor._catch_up()
            self.add(map(dataclasses.replace, predecessor._tracked.values()))
            predecessor._closed = True

    def add(self, found):
        """Put TrackedPlacement or InFlight objects in flight."""
        with self._lock:
            places = set()
            for each in found:
                tracked = each if isinstance(each, TrackedPlacement) else (
                    TrackedPlacement(each))
                self._track(tracked)
                places.add(tracked.placed.place)
            self._version += 1
            self._commits.clear()
            self._table = self._redone(self._table, places)

    # Consuming.

    def _redone(self, table, places, without=frozenset()):
        """Return a table whose rows at these places are made anew.

        They have what was read, less what is in flight.
        without: keys of placements that do not count.
        """
        rows = [(self._base.row(*place), table.row(*place), place)
                for place in places]
        table = usage.copy_usage(table, self._base, [
            item for item in rows if None not in item])
        return self._placed(table, places, without)

    def _placed(self, table, places, without=frozenset()):
        """Return a table with the placements at these places consumed."""
        scratch = table.snapshot(None)
        scratch.pack_numa_cells = self._pack_numa_cells
        for host, nodename in places:
            for placed in self._pending.on(host).values():
                row = table.row(*placed.place)
                if (placed.nodename != nodename or row is None
                        or placed.claimed or placed.key in without):
                    continue
                try:
                    scratch.consume(
                        row, placed.demand.demand(), placed.at, None,
                        {'numa_topology': placed.numa_limits})
                except Exception:
                    # One placement must not keep all hosts from being read.
                    LOG.exception('What instance %(key)s takes of host '
                                  '%(host)s cannot be told', {
                                      'key': placed.key, 'host': host})
        return scratch.as_table()
