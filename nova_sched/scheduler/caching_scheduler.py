"""The caching scheduler: as the filter scheduler, on hosts kept in memory.

No request waits for a database, unless it asks where instances run; the
others do not wait for it, unless a rule looks at all instances of hosts.  A
periodic task reads the hosts anew; what this process placed since a compute
node last reported stays consumed until that node reports again.  Each worker
has a cache of its own.
"""

import threading

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hardware import consumption
from nova_sched.hosts import table as host_table
from nova_sched.scheduler import filter_scheduler

LOG = logging.getLogger(__name__)


class CachingScheduler(filter_scheduler.FilterScheduler):
    """Decides on periodically refreshed state plus its own placements."""

    PERIODIC = True
    USES_ALLOCATION_CANDIDATES = False

    def __init__(self, conf):
        super().__init__(conf)
        self._lock = threading.Lock()
        self._table = None
        self._placed = {}
        self._successor = None

    def start(self):
        self.run_periodic_tasks(None)

    def take_over(self, predecessor):
        """Keep what a caching driver before this one placed.

        Requests that it has not begun to decide are decided here.
        """
        if isinstance(predecessor, CachingScheduler):
            with predecessor._lock, self._lock:
                self._placed = dict(predecessor._placed)
                self._table, _ = carry_over(predecessor._table, self._table)
                predecessor._successor = self

    def run_periodic_tasks(self, context):
        """Read the hosts anew, keeping consumption not yet reported."""
        fresh = self.host_manager.cache.refresh()
        with self._lock:
            if self._table is not None:
                fresh, kept = carry_over(self._table, fresh)
                self._placed = {uuid: host for uuid, host
                                in self._placed.items() if host in kept}
            self._table = fresh
        LOG.debug('Host cache refreshed: %d hosts', fresh.size)

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, candidates=None):
        decision = self._new_decision(context, spec_obj, instance_uuids)
        with decision.timed('state'):
            found = self._located(spec_obj)
        # One decision at a time: the next one must see what this one placed.
        with decision.timed('wait'):
            self._lock.acquire()
        try:
            if self._successor is None:
                return self._decide(found, spec_obj, instance_uuids,
                                    return_alternates, decision)
        finally:
            self._lock.release()
        return self._successor.select_destinations(
            context, spec_obj, instance_uuids, return_alternates, candidates)

    def _located(self, spec):
        """Where the instances are that a request names: Instances."""
        found = self.host_manager.instances(self._table)
        try:
            found.look_up(spec)
        except exception.DatabaseUnavailable as error:
            # It matters only if a rule asks, which then fails with it.
            LOG.debug('Not looked up: %s', error)
        return found

    def _decide(self, found, spec, instance_uuids, return_alternates,
                decision):
        """Decide on the table; a refused request leaves it as it was."""
        found.add(self._placed)
        snapshot = self.host_manager.snapshot(self._table, found)
        selections = self._select(snapshot, spec, instance_uuids,
                                  return_alternates, decision)
        self._table = snapshot.as_table()
        if spec.instance_group is not None:
            self._placed |= {
                uuid: pick.host for uuid, pick
                in zip(instance_uuids or (), decision.picks, strict=False)}
        return selections


def carry_over(old, new):
    """Keep consumption that is newer than what a compute node reported.

    old, new: HostTable.  Returns the new table with the consumed columns of
    those hosts taken from the old one, and the set of these hosts' names.
    """
    rows = {key: row for row, key in enumerate(_keys(old))}
    pairs = [(rows[key], row) for row, key in enumerate(_keys(new))
             if key in rows]
    if not pairs:
        return new, set()
    was, now = np.array(pairs).T
    newer = old.columns['updated'][was] > new.columns['updated'][now]
    was, now = was[newer], now[newer]
    columns = {}
    for name in host_table.CONSUMED:
        columns[name] = new.columns[name].copy()
        columns[name][now] = old.columns[name][was]
    hosts = new.columns['host']
    kept = {hosts.values[code] for code in hosts.codes[now].tolist()}
    hardware = {row: {name: _value(old.columns[name], at)
                      for name in consumption.COLUMNS}
                for at, row in zip(was.tolist(), now.tolist(), strict=True)}
    return new.with_columns(**columns).replaced(hardware), kept


def _value(column, row):
    return column.values[column.codes.item(row)]


def _keys(table):
    columns = (table.columns['host'], table.columns['nodename'])
    return zip(*([column.values[code] for code in column.codes.tolist()]
                 for column in columns), strict=True)
