"""The state that requests are decided on: hosts as read, less the ledger.

1. A request takes a ``view`` in its turn (``deciding``): the hosts as last
   read, less the entries that count on them, of all requests but its own.
2. ``assume`` adds entries for its picks, which later views see: those of this
   worker, of the other workers of the service (``shared_picks.py``) and of
   other daemons (``peers.py``).
3. ``claimed`` and ``forget`` say what became of them.
4. Each read of the hosts says which of their rows changed
   (``uuids_to_look_up``) and where the instances are that were given these
   hosts, as of the same moment (``rebase``).
"""

import contextlib
import dataclasses
import threading
import time

from oslo_log import log as logging

from nova_sched.hosts.table import HostTable
from nova_sched.inventory.decision_lock import LAST_PATIENCE
from nova_sched.inventory.decision_lock import PATIENCE
from nova_sched.inventory.decision_lock import DecisionLock
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.in_flight import UsageDelta
from nova_sched.inventory.in_flight import is_uuid
from nova_sched.inventory.ledger import GRACE
from nova_sched.inventory.ledger import Entry
from nova_sched.inventory.ledger import Ledger
from nova_sched.inventory.shared_picks import NotShared

LOG = logging.getLogger(__name__)

#: Seconds between two lines about picks of other daemons that are dropped.
LINE_INTERVAL = 60

#: Entries that are looked up per second though their hosts report nothing new.
LOOKED_UP = 1000


@dataclasses.dataclass(frozen=True)
class View:
    """The hosts as one decision sees them.

    table: HostTable less the entries that count.
    in_flight: how many these are.
    added: how many entries the ledger had been given.
    state: the SchedulingState that it is of.
    room: placement.mirror.providers.Room; None without a copy of Placement.
    """

    table: HostTable
    in_flight: int
    added: int
    state: object = None
    room: object = None


class SchedulingState:
    """The hosts as read and the ledger of one process; safe for threads.

    lifetime: seconds that an entry counts at most.
    clock: function that returns seconds since the epoch.
    monotonic: as time.monotonic, by which entries end: whatever the clock of
        another daemon says, and however the own one is set.
    pack_numa_cells: as of HostSnapshot.

    in_use: list of the state that has taken over, or of this one; the same
        list of all that a reload of the configuration has replaced.
    """

    def __init__(self, lifetime, clock, pack_numa_cells=False,
                 monotonic=time.monotonic):
        self._lifetime, self._clock = lifetime, clock
        self._monotonic = monotonic
        self._pack_numa_cells = pack_numa_cells
        self._lock, self._decision_lock = threading.RLock(), DecisionLock()
        self._base = self._table = HostTable.from_records([])
        self._ledger, self._sharing = Ledger(), NotShared()
        self._changed, self._looked_up, self._swept = set(), None, 0.0
        # How many picks were dropped since the last line, and when the next
        # one may come.
        self._odd, self._next_line = 0, 0.0
        self.in_use = [self]

    def share(self, sharing):
        """Share the ledger with other workers: a shared_picks.Sharing."""
        self._sharing = sharing

    def count_claims(self, providers):
        """Count claims that are under way in a copy of Placement.

        providers: placement.mirror.providers.Providers.
        """
        self._ledger.providers = providers
        providers.catch_up = self.catch_up

    # Reading: what a watcher of the host cache does.

    def uuids_to_look_up(self, hosts):
        """Return the instances to look up when rows of hosts changed: list.

        hosts: names of these hosts, a set.
        """
        with self._lock:
            # First, so that news from before the read is looked up.
            self._catch_up()
            self._changed |= hosts
            if self._looked_up is None:
                self._looked_up = self._due()
            return [*dict.fromkeys([*self._looked_up, *(
                key for host in self._ledger.hosts() & hosts
                for key in self._ledger.on(host) if is_uuid(key))])]

    def _due(self):
        """Return the next instances to be looked up regularly: list."""
        now = self._monotonic()
        count = int(min(now - self._swept, self._lifetime) * LOOKED_UP)
        if count < LOOKED_UP * GRACE:
            return []
        self._swept = now
        return [key for key in self._ledger.due(count) if is_uuid(key)]

    def rebase(self, table, located):
        """Take the hosts as read; return the HostTable less the ledger.

        located: uuid -> host or None, of all that ``uuids_to_look_up`` named.
        """
        with self._lock:
            changed, self._changed, self._looked_up = (
                self._changed, set(), None)
            now, delta = self._monotonic(), UsageDelta(self._base, table)
            places = self._ledger.expire(now)
            known = filter(None, map(self._ledger.get, located))
            for entry in sorted(known, key=Entry.likely_order):
                if self._ledger.see(entry, located[entry.placed.key], delta,
                                    now):
                    places.add(entry.placed.place)
            if table.columns is self._base.columns and not places:
                self._base = table
                self._table = self._table.of_cells(table.cells)
            else:
                self._take(table, changed, places)
            return self._table

    def _take(self, table, changed, places):
        """Subtract the entries from a table of other values."""
        before, self._base = self._table, table
        counting = self._ledger.places()
        kept = [(before.row(*place), table.row(*place), place)
                for place in counting
                if place[0] not in changed and place not in places]
        kept = [item for item in kept if None not in item]
        self._table = table.with_usage(before, kept)
        anew = counting - {place for _, _, place in kept}
        if anew:
            self._table = self._consumed(self._table, anew)

    # Deciding.

    @contextlib.contextmanager
    def deciding(self, is_last=False):
        """Decide while no other request is: a context with a Turn.

        Others go on beside a decision that is slower than PATIENCE seconds.
        is_last: whether the decision stands, and is given LAST_PATIENCE.
        """
        patience = LAST_PATIENCE if is_last else PATIENCE
        with (self._decision_lock.shared(patience) as turn,
              self._sharing.turn(patience)):
            # Not before: a wait for other workers is no slow decision.
            turn.begin()
            yield turn

    @property
    def daemons(self):
        """How many other daemons hear what is assumed."""
        return self._sharing.daemons

    def wait_until_heard(self, seconds):
        """Wait until other daemons know what is assumed.

        seconds: to wait at most.
        """
        self._sharing.wait_until_heard(seconds)

    @property
    def table(self):
        """The hosts less the ledger: HostTable."""
        return self._table

    @property
    def as_read(self):
        """The hosts as read: HostTable."""
        return self._base

    def view(self, keys=()):
        """Return the View for a request; entries of its keys do not count.

        A call that is repeated must not count twice.
        """
        with self._lock:
            self._catch_up()
            table = self._table
            own = {key: entry for key in keys
                   if (entry := self._ledger.get(key)) and entry.counts}
            if own:
                table = self._redone(
                    table, {entry.placed.place for entry in own.values()},
                    without=own.keys())
            providers = self._ledger.providers
            return View(table, self._ledger.count() - len(own),
                        self._ledger.added, self,
                        None if providers is None else providers.room())

    def assume(self, view, placements, snapshot, related=frozenset(),
               anyway=False):
        """Add entries for picks; return False to have them decided anew.

        That is where entries were added since the view at their places, or of
        what they depend on: by a request that went on beside a slow one, or
        by another daemon; and where another state has taken over since.
        view: the View that they were picked on.  placements: list of InFlight.
        snapshot: HostSnapshot of the view with the placements consumed.
        related: keys of instances and groups that the picks depend on.
        anyway: whether they are added all the same.
        """
        with self._lock:
            if self.in_use[0] is not self:
                return self.in_use[0].assume(view, placements, snapshot,
                                             related, anyway)
            places = {placed.place for placed in placements}
            with self._sharing.alone():
                self._catch_up()
                if not anyway and (
                        view.state is not self or self._ledger.has_more(
                            places | related, view.added)):
                    return False
                self._sharing.tell(News(placements))
            is_current = (view.table.columns is self._table.columns
                          and not snapshot.writes)
            places |= self._add(map(Entry, placements))
            self._table = (snapshot.as_table() if is_current
                           and len(placements) == len(
                               {placed.key for placed in placements})
                           else self._redone(self._table, places))
            return True

    def claimed(self, placements, writes):
        """Note that Placement counts these, a list of InFlight.

        writes: provider uuid -> how many requests these took.
        """
        self._end(News(claimed=_ids(placements), writes=writes))

    def forget(self, placements):
        """Take these, a list of InFlight, back."""
        self._end(News(forgotten=_ids(placements)))

    def _end(self, news):
        with self._lock:
            if self.in_use[0] is not self:
                self.in_use[0]._end(news)
                return
            places = self._end_known(news)
            # What has ended here may not have in a worker that begins.
            self._sharing.tell(news)
            if places:
                self._table = self._redone(self._table, places)

    def _end_known(self, news):
        """End the entries that News are about; return their places: set."""
        ended = {self._ledger.end(*each, True) for each in news.claimed}
        ended |= {self._ledger.end(*each, False) for each in news.forgotten}
        if news.writes and self._ledger.providers is not None:
            self._ledger.providers.written(news.writes)
        return ended - {None}

    def catch_up(self):
        """Take in the news of other workers and daemons."""
        with self._lock:
            self._catch_up()

    def _catch_up(self):
        places = set()
        for news in self._sharing.news():
            # Other daemons may send it twice, and late.
            places |= self._add(
                Entry(placed) for placed in news.assumed
                if self._ledger.is_new(placed)
                and not (news.heard and self._is_odd(placed)))
            places |= self._end_known(news)
        if places:
            self._table = self._redone(self._table, places)

    def _add(self, entries):
        """Add entries; return where they count, and where others did."""
        places = set()
        for entry in entries:
            replaced = self._ledger.get(entry.placed.key)
            if replaced is not None:
                places.add(replaced.placed.place)
            places |= self._ledger.add(entry, self._end_of(entry.placed))
            places.add(entry.placed.place)
        return places

    def _end_of(self, placed):
        """Return when the entry of an InFlight ends, by ``monotonic``."""
        age = min(max(0.0, self._clock() - placed.at), self._lifetime)
        return self._monotonic() + self._lifetime - age

    def _is_odd(self, placed):
        """Return whether no host could be given an instance as it is told.

        Another daemon tells of it.
        """
        row = self._base.row(*placed.place)
        if not self._base.size:
            return False
        if row is not None and _may_hold(self._base, row, placed.demand):
            return False
        self._odd += 1
        if self._monotonic() >= self._next_line:
            self._next_line = self._monotonic() + LINE_INTERVAL
            LOG.warning(
                '%(count)d pick(s) of other daemons are dropped: the last one '
                'is of host %(host)s, node %(node)s, which is not known here '
                'or has less than the instance takes', {
                    'count': self._odd, 'host': placed.host,
                    'node': placed.nodename})
            self._odd = 0
        return True

    def of_group(self, group, members):
        """Return the entries of a server group: list of InFlight.

        group: its key, or None.  members: uuids.
        """
        with self._lock:
            self._catch_up()
            return [entry.placed for entry
                    in self._ledger.of_group(group, members).values()]

    def pending(self, without=()):
        """Return the entries that count on hosts: a new dict {key: Entry}.

        without: keys that are left out.
        """
        with self._lock:
            self._catch_up()
            return self._ledger.counting(without)

    # Handing on.

    def take_over(self, predecessor):
        """Take the entries of another state, which hands on later ones."""
        with predecessor._lock, self._lock:
            # Before: what was shared is not to count once more.
            self._catch_up()
            predecessor._catch_up()
            self._table = self._redone(self._table, self._ledger.take_ends(
                predecessor._ledger))
            self.add(map(dataclasses.replace, predecessor._ledger.entries()))
            self.in_use = predecessor.in_use
            self.in_use[0] = self

    def add(self, entries):
        """Add entries: Entry or InFlight objects."""
        with self._lock:
            self._table = self._redone(self._table, self._add(
                entry if isinstance(entry, Entry) else Entry(entry)
                for entry in entries))

    # Consuming.

    def _redone(self, table, places, without=frozenset()):
        """Return a table whose rows at these places are made anew.

        They have what was read, less the entries.
        without: keys of entries that do not count.
        """
        rows = [(self._base.row(*place), table.row(*place), place)
                for place in places]
        table = table.with_usage(self._base, [
            item for item in rows if None not in item])
        return self._consumed(table, places, without)

    def _consumed(self, table, places, without=frozenset()):
        """Return a table less the entries that count at these places."""
        scratch = table.snapshot(None)
        scratch.pack_numa_cells = self._pack_numa_cells
        for host, nodename in places:
            for key, entry in self._ledger.on(host).items():
                placed = entry.placed
                row = table.row(*placed.place)
                if (placed.nodename != nodename or row is None
                        or key in without
                        or (entry.claimed and not placed.takes_hardware)):
                    continue
                consume = (scratch.consume_hardware if entry.claimed
                           else scratch.consume)
                try:
                    consume(row, placed.demand.demand(), placed.at, None,
                            {'numa_topology': placed.numa_limits})
                except Exception:
                    # One entry must not keep all hosts from being read.
                    LOG.exception('What instance %(key)s takes of host '
                                  '%(host)s cannot be told', {
                                      'key': key, 'host': host})
        return scratch.as_table()


def _ids(placements):
    """Return what News name a list of InFlight by."""
    return [(placed.key, placed.place, placed.at) for placed in placements]


def _may_hold(table, row, demand):
    """Return whether an instance is no larger than a whole host.

    A host that reports no amount, as bare metal does, may hold any.
    demand: RequestSpec that has what the instance takes.
    """
    return all(
        not total or wanted <= total for total, wanted in (
            (table.columns['total_usable_ram_mb'].item(row),
             demand.memory_mb),
            (table.columns['vcpus_total'].item(row), demand.vcpus)))
