"""The state that decisions are based on: the hosts as read, less the ledger.

1. A request takes a ``view`` while it holds the decision lock (``deciding``):
   the hosts of the last read, less the counting entries of all other requests.
2. ``assume`` adds entries for its picks.  Later views see the entries of this
   worker, of the other workers of the service (``shared_picks.py``) and of
   other daemons (``peers.py``).
3. ``claimed`` and ``forget`` end these entries.
4. Each read of the hosts reports the hosts with changed rows
   (``uuids_to_look_up``) and, as of the same moment, the hosts of the
   instances in the ledger (``rebase``).
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

#: Seconds between two log lines about dropped picks of other daemons.
LINE_INTERVAL = 60

#: Entries that are looked up per second although their hosts are unchanged.
LOOKED_UP = 1000


@dataclasses.dataclass(frozen=True)
class View:
    """The hosts as one decision sees them.

    table: HostTable less the counting entries.
    in_flight: number of these entries.
    added: ``Ledger.added`` at that moment.
    state: the SchedulingState that made the view.
    room: placement.mirror.providers.Room; None without a mirror of Placement.
    """

    table: HostTable
    in_flight: int
    added: int
    state: object = None
    room: object = None


class SchedulingState:
    """The hosts as read and the ledger of one process; safe for threads.

    lifetime: maximum seconds for which an entry stays in the ledger.
    clock: function that returns seconds since the epoch.
    monotonic: as time.monotonic; entries end by it, independent of the clocks
        of this and other hosts.
    pack_numa_cells: see HostSnapshot.

    as_read: the hosts as read, HostTable.  table: the same less the ledger.
    sharing: shared_picks.Sharing with the other workers and daemons.
    in_use: list of the state in use: this one, or its successor after a
        reload.  All replaced states share the same list.
    """

    def __init__(self, lifetime, clock, pack_numa_cells=False,
                 monotonic=time.monotonic):
        self._lifetime, self._clock = lifetime, clock
        self._monotonic = monotonic
        self._pack_numa_cells = pack_numa_cells
        self._lock, self._decision_lock = threading.RLock(), DecisionLock()
        self.as_read = self.table = HostTable.from_records([])
        self._ledger, self.sharing = Ledger(), NotShared()
        self._changed, self._looked_up, self._swept = set(), None, 0.0
        # Number of dropped picks since the last log line; time of the next.
        self._invalid, self._next_line = 0, 0.0
        self.in_use = [self]

    def count_claims(self, providers):
        """Count claims under way in a mirror of Placement.

        providers: placement.mirror.providers.Providers.
        """
        self._ledger.providers = providers
        providers.catch_up = self.catch_up

    # Reading: called by the host cache as its watcher.

    def uuids_to_look_up(self, hosts):
        """Return the uuids of the instances to look up: list.

        hosts: names of the hosts with changed rows: set.
        """
        with self._lock:
            # Instances in news from before the read must be looked up, too.
            self.catch_up()
            self._changed |= hosts
            if self._looked_up is None:
                self._looked_up = self._due()
            return [*dict.fromkeys([*self._looked_up, *(
                key for host in self._ledger.hosts() & hosts
                for key in self._ledger.on(host) if is_uuid(key))])]

    def _due(self):
        """Return the uuids that are due for a regular look-up: list."""
        now = self._monotonic()
        count = int(min(now - self._swept, self._lifetime) * LOOKED_UP)
        if count < LOOKED_UP * GRACE:
            return []
        self._swept = now
        return [key for key in self._ledger.due(count) if is_uuid(key)]

    def rebase(self, table, located):
        """Take the hosts as read; return the HostTable less the ledger.

        located: uuid -> host or None, for all of ``uuids_to_look_up``.
        """
        with self._lock:
            changed, self._changed, self._looked_up = (
                self._changed, set(), None)
            now, delta = self._monotonic(), UsageDelta(self.as_read, table)
            places = self._ledger.expire(now)
            entries = filter(None, map(self._ledger.get, located))
            for entry in sorted(entries, key=Entry.likely_order):
                if self._ledger.see(entry, located[entry.placed.key], delta,
                                    now):
                    places.add(entry.placed.place)
            if table.columns is self.as_read.columns and not places:
                self.as_read = table
                self.table = self.table.of(
                    self.table.columns, table.cells)
            else:
                self._take(table, changed, places)
            return self.table

    def _take(self, table, changed, places):
        """Subtract the entries from a table with changed values.

        Places without changes keep the values that were computed before.
        """
        before, self.as_read = self.table, table
        counting = self._ledger.places()
        same = [(before.row(*place), table.row(*place), place)
                for place in counting
                if place[0] not in changed and place not in places]
        same = [item for item in same if None not in item]
        self.table = table.with_usage(before, same)
        rest = counting - {place for _, _, place in same}
        if rest:
            self.table = self._consumed(self.table, rest)

    # Deciding.

    @contextlib.contextmanager
    def deciding(self, is_last=False):
        """Hold the decision locks for a block; yield the Hold.

        The next request decides in parallel to a decision that takes longer
        than PATIENCE seconds, or LAST_PATIENCE if ``is_last``.
        is_last: whether the decision stands even if it is overtaken.
        """
        patience = LAST_PATIENCE if is_last else PATIENCE
        with (self._decision_lock.acquire(patience) as hold,
              self.sharing.deciding(patience)):
            # The wait for other workers is no part of the decision.
            hold.begin()
            yield hold

    def view(self, keys=()):
        """Return the View for a request.

        Entries of its own keys do not count: an instance of a repeated call
        must not count twice.
        """
        with self._lock:
            self.catch_up()
            table = self.table
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
               force=False):
        """Add entries for picks; return False if they must be decided again.

        That is the case if an entry was added since the view at one of their
        places or related keys, by an overtaking request or by another
        daemon, and if another state has taken over since.
        view: the View of the decision.  placements: list of PlacedInstance.
        snapshot: HostSnapshot of the view with the placements consumed.
        related: keys of instances and groups that the picks depend on.
        force: whether to add the entries in any case.
        """
        with self._lock:
            if self.in_use[0] is not self:
                return self.in_use[0].assume(view, placements, snapshot,
                                             related, force)
            places = {placed.place for placed in placements}
            with self.sharing.exclusive():
                self.catch_up()
                if not force and (
                        view.state is not self or self._ledger.has_more(
                            places | related, view.added)):
                    return False
                self.sharing.tell(News(placements))
            is_current = (view.table.columns is self.table.columns
                          and not snapshot.writes)
            places |= self._add(map(Entry, placements))
            self.table = (snapshot.as_table() if is_current
                           and len(placements) == len(
                               {placed.key for placed in placements})
                           else self._redone(self.table, places))
            return True

    def claimed(self, placements, writes):
        """Record that Placement has granted claims and counts them.

        placements: list of PlacedInstance of the claims.
        writes: provider uuid -> number of requests that claimed on it.
        """
        self._end(News(claimed=_ids(placements), writes=writes))

    def forget(self, placements):
        """Remove the entries of picks that do not hold.

        placements: list of PlacedInstance.
        """
        self._end(News(forgotten=_ids(placements)))

    def _end(self, news):
        with self._lock:
            if self.in_use[0] is not self:
                self.in_use[0]._end(news)
                return
            places = self._end_entries(news)
            # Even if unknown here: another worker may still count it.
            self.sharing.tell(news)
            if places:
                self.table = self._redone(self.table, places)

    def _end_entries(self, news):
        """End the entries that News end; return their places: set."""
        ended = {self._ledger.end(*item, True) for item in news.claimed}
        ended |= {self._ledger.end(*item, False) for item in news.forgotten}
        if news.writes and self._ledger.providers is not None:
            self._ledger.providers.written(news.writes)
        return ended - {None}

    def catch_up(self):
        """Apply the news of other workers and daemons."""
        with self._lock:
            places = set()
            for news in self.sharing.news():
                # Other daemons may send news twice or late.
                places |= self._add(
                    Entry(placed) for placed in news.assumed
                    if self._ledger.is_new(placed)
                    and not (news.from_peer and self._is_invalid(placed)))
                places |= self._end_entries(news)
            if places:
                self.table = self._redone(self.table, places)

    def _add(self, entries):
        """Add entries; return the places of changed entries."""
        places = set()
        for entry in entries:
            age = min(max(0.0, self._clock() - entry.placed.at),
                      self._lifetime)
            places |= self._ledger.add(
                entry, self._monotonic() + self._lifetime - age)
        return places

    def _is_invalid(self, placed):
        """Return whether a pick of another daemon fits no host here."""
        row = self.as_read.row(*placed.place)
        if not self.as_read.size:
            return False
        if row is not None and _may_hold(self.as_read, row, placed.demand):
            return False
        self._invalid += 1
        if self._monotonic() >= self._next_line:
            self._next_line = self._monotonic() + LINE_INTERVAL
            LOG.warning('%d pick(s) of other daemons are dropped: the last '
                        'one is on host %s, node %s, which is unknown here or '
                        'smaller than the instance', self._invalid,
                        placed.host, placed.nodename)
            self._invalid = 0
        return True

    def of_group(self, group, members):
        """Return the entries of a server group: list of PlacedInstance.

        group: its key, or None.  members: uuids.
        """
        with self._lock:
            self.catch_up()
            return [entry.placed for entry
                    in self._ledger.of_group(group, members).values()]

    def pending(self, without=()):
        """Return the picks that count on hosts, by key: a new dict.

        without: keys to leave out.
        """
        with self._lock:
            self.catch_up()
            return self._ledger.counting(without)

    # Reload.

    def take_over(self, predecessor):
        """Copy the entries of another state, which forwards later ones."""
        with predecessor._lock, self._lock:
            # News must be in the predecessor's entries, or be applied here,
            # but not both.
            self.catch_up()
            predecessor.catch_up()
            self.table = self._redone(self.table, self._ledger.take_ends(
                predecessor._ledger))
            self.table = self._redone(self.table, self._add(
                map(dataclasses.replace, predecessor._ledger.entries())))
            self.in_use = predecessor.in_use
            self.in_use[0] = self

    # Subtracting entries.

    def _redone(self, table, places, without=frozenset()):
        """Return a table with rows recomputed at some places.

        They have the values as read, less the counting entries.
        without: keys of entries that do not count.
        """
        rows = [(self.as_read.row(*place), table.row(*place), place)
                for place in places]
        table = table.with_usage(self.as_read, [
            item for item in rows if None not in item])
        return self._consumed(table, places, without)

    def _consumed(self, table, places, without=frozenset()):
        """Return a table less the counting entries at some places."""
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
                    # One bad entry must not make all requests fail.
                    LOG.exception('Cannot subtract instance %(key)s from host '
                                  '%(host)s', {'key': key, 'host': host})
        return scratch.as_table()


def _ids(placements):
    """Return the identifiers that News use for a list of PlacedInstance."""
    return [(placed.key, placed.place, placed.at) for placed in placements]


def _may_hold(table, row, demand):
    """Return whether an instance is no larger than an empty host.

    A host that reports no amount, such as bare metal, may hold any instance.
    demand: RequestSpec with the amounts of the instance.
    """
    return all(
        not total or amount <= total for total, amount in (
            (table.columns['total_usable_ram_mb'].item(row),
             demand.memory_mb),
            (table.columns['vcpus_total'].item(row), demand.vcpus)))
