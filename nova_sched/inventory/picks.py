"""What this process has placed and no host reports yet: picks in flight.

Without a claim in Placement nothing else remembers a pick until its instance
shows on the host in the database, and a request that comes in between would
be given the same room again. So:

1. Whoever decides takes a ``view``: the hosts as last read, less what is in
   flight on them; less the picks of the request's own instances, because a
   call that is repeated must not count twice.
2. What was chosen is added by ``commit``, unless another request has taken
   something of it since the view; then it is to be decided anew.
3. Each read of the hosts says which of their rows changed (``uuids``) and
   where the instances are that were placed there, as of the same moment
   (``rebase``). A pick no longer counts once its instance shows on the host
   and the host's row tells of it (``reported``), or a moment later; when it
   shows elsewhere than before; and at the latest when its lifetime is over.

Callers tell a server group's hosts as of when they asked, so the picks of a
group are remembered for its other requests, counted or not.
"""

import collections
import dataclasses
import heapq
import itertools
import threading

from oslo_log import log as logging

from nova_sched.hosts.table import HostTable
from nova_sched.inventory import consumed
from nova_sched.inventory import turns
from nova_sched.inventory.counted import Counted
from nova_sched.inventory.in_flight import UNSEEN
from nova_sched.inventory.in_flight import Watched
from nova_sched.inventory.in_flight import is_uuid
from nova_sched.inventory.reported import GRACE
from nova_sched.inventory.reported import Reported

LOG = logging.getLogger(__name__)

#: Picks that are looked for a second though their hosts report nothing new.
LOOKED_FOR = 1000

#: Commits that are remembered to be compared with views from before them.
REMEMBERED = 1000

#: Picks that are remembered to have been taken back.
VOID = 2000


@dataclasses.dataclass(frozen=True)
class View:
    """The hosts as one decision sees them.

    table: HostTable with what is in flight.  in_flight: the picks that count
    in it, a counted.Moment.  own: keys of the request's own picks.
    version: how often anything was committed before.  whole: the HostTable
    in which own picks count as well.
    """

    table: HostTable
    in_flight: tuple
    own: tuple
    version: int
    whole: HostTable


class Picks:
    """The picks in flight of one process, on the hosts as last read.

    lifetime: seconds that a pick counts at most.
    clock: function that returns seconds since the epoch.
    pack_numa_cells: as of HostSnapshot.
    """

    def __init__(self, lifetime, clock, pack_numa_cells=False):
        self._lifetime, self._clock = lifetime, clock
        self._pack_numa_cells = pack_numa_cells
        self._lock = threading.RLock()
        self._turns = turns.Turns(self._lock)
        self._base = self._table = HostTable.from_records([])
        self._watched = collections.OrderedDict()
        self._counted, self._by_group = Counted(), {}
        # (when placed, number, key) of all that were: a heap.
        self._placed_at, self._numbers = [], itertools.count()
        self._version, self._commits = 0, collections.deque(maxlen=REMEMBERED)
        # Those that were taken back of late, by id.
        self._void = collections.OrderedDict()
        self._changed, self._looked, self._swept = set(), None, 0.0
        self._closed = False

    # Reading: what a watcher of the host cache does.

    def settle(self, seconds):
        """Return when no request is being decided, or so much later."""
        self._turns.wait_for_idle(seconds)

    def uuids(self, hosts):
        """The instances to look for when the rows of these hosts changed."""
        with self._lock:
            self._changed |= hosts
            if self._looked is None:
                self._looked = self._due()
            return [*dict.fromkeys([*self._looked, *(
                key for host in self._counted.hosts & hosts
                for key in self._counted.on(host) if is_uuid(key))])]

    def _due(self):
        """The next of those that are looked for now and then: list."""
        now = self._clock()
        count = int(min(now - self._swept, self._lifetime) * LOOKED_FOR)
        if count < LOOKED_FOR * GRACE:
            return []
        self._swept = now
        due = [key for key, _ in zip(self._watched, range(count),
                                     strict=False)]
        for key in due:
            self._watched.move_to_end(key)
        return [key for key in due if is_uuid(key)]

    def rebase(self, table, located):
        """Take the hosts as read: HostTable with what is in flight.

        located: uuid -> host or None, of all that ``uuids`` asked for.
        """
        with self._lock:
            changed, self._changed, self._looked = self._changed, set(), None
            now, reported = self._clock(), Reported(self._base, table)
            places = self._expire(now)
            for watched in sorted((
                    self._watched[key] for key in located
                    if key in self._watched), key=Watched.since):
                if self._look_at(watched, located[watched.pick.key],
                                 reported, now):
                    places.add(watched.pick.place)
            if table.columns is self._base.columns and not places:
                self._base = table
                self._table = self._table.of_cells(table.cells)
            else:
                self._take(table, changed, places)
            return self._table

    def _expire(self, now):
        """Forget the picks whose lifetime is over; places where they count."""
        places = set()
        while (self._placed_at
               and now - self._placed_at[0][0] > self._lifetime):
            at, _, key = heapq.heappop(self._placed_at)
            watched = self._watched.get(key)
            if watched is not None and watched.pick.at == at:
                self._uncount(watched)
                self._forget(watched.pick)
                places.add(watched.pick.place)
        return places

    def _look_at(self, watched, host, reported, now):
        """Whether a pick counts no more, its instance being on ``host``."""
        pick = watched.pick
        if host == pick.host:
            if watched.shown is None:
                watched.shown = now
            if not watched.counts or not (
                    reported.tells_of(pick) or now - watched.shown >= GRACE):
                return False
            self._uncount(watched)
            if pick.group is None:
                self._forget(pick)
            return True
        if watched.elsewhere is UNSEEN:
            watched.elsewhere = host
        if watched.shown is None and host in (None, watched.elsewhere):
            # Not built yet, or on its way from where it was before.
            return False
        self._uncount(watched)
        self._forget(pick)
        return True

    def _uncount(self, watched):
        if watched.counts:
            watched.counts = False
            self._counted.remove(watched.pick)

    def _forget(self, pick):
        self._watched.pop(pick.key, None)
        if pick.group is not None:
            group = self._by_group.get(pick.group, {})
            if group.pop(pick.key, None) and not group:
                del self._by_group[pick.group]

    def _take(self, table, changed, places):
        """Put what is in flight on a table of other values."""
        before, self._base = self._table, table
        counted = set(self._counted.places)
        kept = [(before.row(*place), table.row(*place), place)
                for place in counted
                if place[0] not in changed and place not in places]
        kept = [item for item in kept if None not in item]
        self._table = consumed.copied(table, before, kept)
        anew = counted - {place for _, _, place in kept}
        if anew:
            self._table = self._placed(self._table, anew)

    # Deciding.

    def turn(self, alone=0):
        """A context in which requests decide one after the other.

        It gives a turns.Turn, which says when it is over.
        alone: nobody else may commit meanwhile, unless it takes long: which
            time the request decides so; 0 for not.
        """
        return self._turns.alone(alone) if alone else self._turns.one()

    @property
    def table(self):
        """The hosts with all that is in flight: HostTable."""
        return self._table

    def view(self, keys):
        """The hosts for a request with picks of these keys: ``View``."""
        with self._lock:
            own = tuple(key for key in keys if key in self._watched)
            table = self._table
            counted = [self._watched[key].pick for key in own
                       if self._watched[key].counts]
            if counted:
                table = self._redone(table, {pick.place for pick in counted},
                                     without=set(own))
            return View(table, self._counted.moment(without=own), own,
                        self._version, self._table)

    def commit(self, view, picks, snapshot, related=frozenset()):
        """Whether the picks are in flight now; if not, decide once more.

        view: that they were chosen on.  picks: list of InFlight.
        snapshot: HostSnapshot of the view with the picks consumed.
        related: instances and groups that the choice depended on: their keys.
        """
        with self._lock:
            places = {pick.place for pick in picks}
            self._turns.wait_for_alone()
            if self._closed or self._is_taken(view, places, related):
                return False
            places |= self._replace(view.own, picks)
            # Of instances that are named twice, one pick is left.
            unchanged = (view.whole.columns is self._table.columns
                         and not snapshot.writes
                         and len({pick.key for pick in picks}) == len(picks))
            self._note(places, picks)
            self._table = (snapshot.as_table() if unchanged
                           else self._redone(self._table, places))
            return True

    def take_back(self, picks):
        """Have these picks, a list of InFlight, in flight no longer."""
        with self._lock:
            self._turns.wait_for_alone()
            found = [watched for pick in picks
                     if (watched := self._watched.get(pick.key)) is not None
                     and watched.pick is pick]
            for watched in found:
                self._uncount(watched)
                self._forget(watched.pick)
                self._void[id(watched.pick)] = watched.pick
            while len(self._void) > VOID:
                self._void.popitem(last=False)
            places = {watched.pick.place for watched in found}
            if places:
                self._note(places, [watched.pick for watched in found])
                self._table = self._redone(self._table, places)

    def standing(self, placed):
        """What ``placed`` said before, without what was taken back since."""
        with self._lock:
            return {uuid: pick for uuid, pick in placed.items()
                    if id(pick) not in self._void}

    def _note(self, places, picks):
        """Remember one more change, for views from before it."""
        self._version += 1
        self._commits.append((self._version, places, {
            name for pick in picks for name in (pick.key, pick.group)
            if name is not None}))

    def _is_taken(self, view, places, related):
        """Whether commits since the view touch what was chosen on it."""
        if self._version - view.version > len(self._commits):
            return True
        since = itertools.takewhile(lambda commit: commit[0] > view.version,
                                    reversed(self._commits))
        return any(places & others or related & names
                   for _, others, names in since)

    def _replace(self, own, picks):
        """Put picks in place of those of the same request; their places."""
        places = set()
        for key in own:
            watched = self._watched.get(key)
            if watched is not None:
                places.add(watched.pick.place)
                self._uncount(watched)
                self._forget(watched.pick)
        for pick in picks:
            self._watch(Watched(pick))
        return places

    def _watch(self, watched):
        """Remember one more pick, in place of any of the same key."""
        pick = watched.pick
        if pick.key in self._watched:
            self._uncount(self._watched[pick.key])
            self._forget(self._watched[pick.key].pick)
        self._watched[pick.key] = watched
        heapq.heappush(self._placed_at, (
            pick.at, next(self._numbers), pick.key))
        if watched.counts:
            self._counted.add(pick)
        if pick.group is not None:
            self._by_group.setdefault(pick.group, {})[pick.key] = pick

    def of_group(self, group, members):
        """The picks of a server group: list of InFlight.

        group: what it is known by, or None.  members: uuids.
        """
        with self._lock:
            found = dict(self._by_group.get(group, {}))
            for uuid in members:
                if uuid in self._watched:
                    found[uuid] = self._watched[uuid].pick
            return list(found.values())

    def placed(self, without=()):
        """{uuid: InFlight} of what is in flight, a new dict.

        without: keys that are left out.
        """
        with self._lock:
            return {key: watched.pick
                    for key, watched in self._watched.items()
                    if watched.counts and key not in without}

    # Handing on.

    def take_over(self, predecessor):
        """Have in flight what the picks of another host manager have.

        Nothing is committed there from then on.
        """
        with predecessor._lock:
            self.add(map(dataclasses.replace, predecessor._watched.values()))
            predecessor._closed = True

    def add(self, found):
        """Have in flight what was elsewhere: Watched, or InFlight."""
        with self._lock:
            places = set()
            for each in found:
                watched = each if isinstance(each, Watched) else (
                    Watched(each))
                self._watch(watched)
                places.add(watched.pick.place)
            self._version += 1
            self._commits.clear()
            self._table = self._redone(self._table, places)

    # Consuming.

    def _redone(self, table, places, without=frozenset()):
        """A table in which these places have what is read, less the picks.

        without: keys of picks that do not count.
        """
        rows = [(self._base.row(*place), table.row(*place), place)
                for place in places]
        table = consumed.copied(table, self._base, [
            item for item in rows if None not in item])
        return self._placed(table, places, without)

    def _placed(self, table, places, without=frozenset()):
        """A table with the picks at these places consumed."""
        scratch = table.snapshot(None)
        scratch.pack_numa_cells = self._pack_numa_cells
        for host, nodename in places:
            for pick in self._counted.on(host).values():
                row = table.row(*pick.place)
                if (pick.nodename != nodename or row is None
                        or pick.key in without):
                    continue
                try:
                    scratch.consume(row, pick.demand.demand(), pick.at, None,
                                    {'numa_topology': pick.numa_limits})
                except Exception:
                    # One pick must not keep all hosts from being read.
                    LOG.exception('What instance %(key)s takes of host '
                                  '%(host)s cannot be told', {
                                      'key': pick.key, 'host': host})
        return scratch.as_table()
