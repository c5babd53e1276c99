"""The chance scheduler: any host whose compute service is enabled and up.

No filters, weighers or consumption; hosts are drawn at random, without
repetition while there are enough.
"""

import random

from nova_sched import exception
from nova_sched.hosts import offer as placement_offer
from nova_sched.hosts.decision import Pick
from nova_sched.plugins import nova_methods
from nova_sched.rules import reasons
from nova_sched.scheduler import answer
from nova_sched.scheduler import driver
from nova_sched.scheduler import placing
from nova_sched.scheduler.claims import Taken


class ChanceScheduler(driver.HostScheduler):
    """Draws hosts at random among those that are up."""

    USES_ALLOCATION_CANDIDATES = False
    NOVA_METHODS = nova_methods.DRIVER | nova_methods.CHANCE_SCHEDULER

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=placement_offer.NOT_ASKED, record=None):
        wanted = placing.Wanted(
            spec_obj, instance_uuids, self.count(spec_obj, instance_uuids),
            self._max_attempts - 1 if return_alternates else 0)
        record = self.opened(record, context, wanted, offer)
        with record.timed('state'), record.budget.not_spent():
            self.host_manager.refresh()
            found = self.host_manager.instances(wanted.keys())
        _view, hosts = self.hosts(wanted, found, record)
        return _Draw(wanted, hosts, record).selections(self._default_zone)


class _Draw:
    """One request, drawn on one snapshot of the hosts."""

    def __init__(self, wanted, hosts, record):
        self._wanted, self._hosts, self._record = wanted, hosts, record
        self._draw = random.Random(record.seed)

    def selections(self, zone):
        """Hosts and alternates: lists of Selection.  Raises NoValidHost."""
        if not self._wanted.count:
            self._refuse(exception.NoValidHost.nova,
                         ' The list of instance uuids is empty')
        nodes = self._nodes_by_host()
        hosts, wanted = sorted(nodes), self._wanted.count
        if len(hosts) >= wanted:
            chosen = self._draw.sample(hosts, wanted)
        else:
            chosen = [self._draw.choice(hosts) for _ in range(wanted)]
        picked = [(Taken(self._draw.choice(nodes[host])), {})
                  for host in chosen]
        spare = [host for host in hosts if host not in set(chosen)]
        self._draw.shuffle(spare)
        alternates = []
        if self._wanted.most_alternates:
            alternates = [self._others(taken.row, spare, nodes)
                          for taken, _ in picked]
        self._note(picked, alternates)
        return answer.selections(self._hosts, picked, alternates, zone)

    def _nodes_by_host(self):
        """host name -> rows of its nodes, of the hosts to draw from."""
        everything = self._hosts.block()
        up = everything.where(everything.service_up
                              & ~everything.service_disabled
                              & ~everything.named(
                                  'cell_uuid', self._hosts.cells.disabled))
        self._record.step(0, 'service up', everything.rows, up.rows)
        if not len(up):
            self._refuse('Is the appropriate service running?')
        ignored = self._wanted.spec_obj.ignore_hosts or []
        left = up.where(~up.named('host', ignored))
        self._record.step(0, 'ignore_hosts', up.rows, left.rows)
        if not len(left):
            self._refuse('Could not find another compute')
        nodes = {}
        for host, row in zip(left.objects('host'), left.rows.tolist(),
                             strict=True):
            nodes.setdefault(host, []).append(row)
        return nodes

    def _others(self, row, spare, nodes):
        """Up to as many alternates as wanted, from the cell of a pick."""
        cell = self._hosts.cell('cell_uuid', row)
        others = []
        for host in spare:
            if len(others) == self._wanted.most_alternates:
                break
            same_cell = [other for other in nodes[host]
                         if self._hosts.cell('cell_uuid', other) == cell]
            if same_cell:
                others.append((Taken(self._draw.choice(same_cell)), {}))
        return others

    def _note(self, picked, alternates):
        for index, ((taken, _), key) in enumerate(
                zip(picked, self._wanted.keys(), strict=True)):
            self._record.picked(Pick(
                index, key if isinstance(key, str) else None,
                self._hosts.cell('host', taken.row),
                self._hosts.cell('nodename', taken.row)))
        self._record.alternates = sum(map(len, alternates))

    def _refuse(self, nova, more=''):
        """Raise NoValidHost: Nova's words, and more for operators."""
        reason = nova + more + reasons.lost_cells(self._record)
        self._record.reason = reason
        raise exception.NoValidHost(reason=reason, nova=nova)
