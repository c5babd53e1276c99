"""The chance scheduler: any host whose compute service is enabled and up.

No filters, weighers or consumption; hosts are drawn at random, without
repetition while there are enough.
"""

import random

import numpy as np

from nova_sched import exception
from nova_sched.hosts.decision import Pick
from nova_sched.rules import codes
from nova_sched.rules import narrowing
from nova_sched.rules import reasons
from nova_sched.rules import refusals
from nova_sched.scheduler import driver
from nova_sched.scheduler import selections
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.claims import ClaimedHost
from nova_sched.scheduler.offer import NO_OFFER


class ChanceScheduler(driver.HostScheduler):
    """Draws hosts at random among those that are up."""

    USES_ALLOCATION_CANDIDATES = False

    def __init__(self, conf):
        super().__init__(conf)
        self.skip_heartbeats()

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=NO_OFFER, record=None):
        request = SchedulingRequest(
            spec_obj, instance_uuids, self.count(spec_obj, instance_uuids),
            self._max_attempts - 1 if return_alternates else 0)
        record = self.opened(record, context, request, offer)
        with record.timed('state'), record.budget.not_spent():
            self.host_manager.refresh()
            instances = self.host_manager.instances(request.keys())
        _view, hosts = self.hosts(request, instances, record)
        return _Draw(request, hosts, record).selections(self._default_zone)


class _Nodes:
    """The nodes of a HostBlock by their hosts.

    hosts: a number of each host, in the order of rows: range.
    """

    def __init__(self, block):
        codes = block.snapshot.column('host').codes.take(block.rows)
        _, first, counts = np.unique(codes, return_index=True,
                                     return_counts=True)
        self._rows = block.rows[np.argsort(codes, kind='stable')]
        ends, by_row = np.cumsum(counts), np.argsort(first)
        self._parts = [*zip((ends - counts)[by_row].tolist(),
                            ends[by_row].tolist(), strict=True)]
        self.hosts = range(len(self._parts))

    def rows(self, host):
        """Return the rows of a host's nodes: list."""
        start, end = self._parts[host]
        return self._rows[start:end].tolist()


class _Shuffled:
    """Items in random order, drawn as far as somebody looks.

    without: of the items, those that are left out: set.
    """

    def __init__(self, items, without, generator):
        self._items, self._without = [*items], without
        self._generator, self._drawn = generator, 0

    def __iter__(self):
        """Yield all of them, each time in the same order."""
        place = 0
        while place < len(self._items):
            if place == self._drawn:
                other = self._generator.randrange(place, len(self._items))
                self._items[place], self._items[other] = (
                    self._items[other], self._items[place])
                self._drawn += 1
            if self._items[place] not in self._without:
                yield self._items[place]
            place += 1


class _Draw:
    """One request, drawn on one snapshot of the hosts."""

    def __init__(self, request, hosts, record):
        self._request, self._hosts, self._record = request, hosts, record
        self._generator = random.Random(record.seed)

    def selections(self, zone):
        """Draw hosts and alternates: lists of Selection.

        Raises NoValidHost.
        """
        if not self._request.count:
            self._record.refuse('no_instances', codes.CONTRADICTION)
            self._refuse(exception.NoValidHost.nova,
                         ' The list of instance uuids is empty')
        nodes = _Nodes(self._up())
        count = self._request.count
        if len(nodes.hosts) >= count:
            chosen = self._generator.sample(nodes.hosts, count)
        else:
            chosen = [self._generator.choice(nodes.hosts)
                      for _ in range(count)]
        picked = [self._chosen(self._generator.choice(nodes.rows(host)))
                  for host in chosen]
        alternates = []
        if self._request.most_alternates:
            spare = _Shuffled(nodes.hosts, {*chosen}, self._generator)
            alternates = [self._others(each.claimed.row, spare, nodes)
                          for each in picked]
        self._note(picked, alternates)
        return selections.of(picked, alternates, zone)

    def _chosen(self, row):
        return selections.Chosen(self._hosts, ClaimedHost(row), {})

    def _up(self):
        """Return the rows to draw from: HostBlock."""
        everything = self._hosts.block()
        up = everything.where(everything.service_up
                              & ~everything.service_disabled
                              & ~everything.named(
                                  'cell_uuid', self._hosts.cells.disabled))
        self._record.step(0, codes.SERVICE_UP, everything.rows, up.rows)
        if not len(up):
            self._refuse('Is the appropriate service running?')
        ignored = self._request.spec_obj.ignore_hosts or []
        left = up.where(~up.named('host', ignored))
        self._record.step(0, narrowing.IGNORED, up.rows, left.rows)
        if not len(left):
            self._refuse('Could not find another compute')
        return left

    def _others(self, row, spare, nodes):
        """Draw the alternates of a pick, which are in its cell."""
        cell = self._hosts.cell('cell_uuid', row)
        others = []
        for host in spare:
            if len(others) == self._request.most_alternates:
                break
            same_cell = [other for other in nodes.rows(host)
                         if self._hosts.cell('cell_uuid', other) == cell]
            if same_cell:
                others.append(self._chosen(
                    self._generator.choice(same_cell)))
        return others

    def _note(self, picked, alternates):
        for index, (each, key) in enumerate(
                zip(picked, self._request.keys(), strict=True)):
            row = each.claimed.row
            self._record.picked(Pick(
                index, key if isinstance(key, str) else None,
                self._hosts.cell('host', row),
                self._hosts.cell('nodename', row)))
        self._record.alternates = sum(map(len, alternates))

    def _refuse(self, nova, more=''):
        """Raise NoValidHost in Nova's words, with more for operators."""
        refusals.note(self._record, (), self._hosts, self._request.spec_obj)
        reason = nova + more + reasons.lost_cells(self._record)
        self._record.reason = reason
        raise exception.NoValidHost(reason=reason, nova=nova)
