"""The chance scheduler: any host whose compute service is enabled and up.

No filters, weighers or consumption; hosts are drawn at random, without
repetition while there are enough.
"""

import random

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.decision import Pick
from nova_sched.rules import codes
from nova_sched.rules import narrowing
from nova_sched.rules import reasons
from nova_sched.rules import refusals
from nova_sched.scheduler import driver
from nova_sched.scheduler import selections
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.claims import ClaimedHost


class ChanceScheduler(driver.HostScheduler):
    """Draws hosts at random among those that are up."""

    USES_ALLOCATION_CANDIDATES = False

    def __init__(self, conf):
        super().__init__(conf)
        self.skip_heartbeats()

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=PLACEMENT_NOT_USED, record=None):
        request = SchedulingRequest(
            spec_obj, instance_uuids, self.count(spec_obj, instance_uuids),
            self._max_attempts - 1 if return_alternates else 0)
        record = self.opened(record, context, request, offer)
        with record.timed('state'), record.budget.not_spent():
            self.host_manager.refresh()
            instances = self.host_manager.instances(request.keys())
        _view, hosts = self.hosts(request, instances, record)
        return _Draw(request, hosts, record).selections(self._default_zone)


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
        nodes = self._nodes_by_host()
        hosts, count = sorted(nodes), self._request.count
        if len(hosts) >= count:
            chosen = self._generator.sample(hosts, count)
        else:
            chosen = [self._generator.choice(hosts) for _ in range(count)]
        picked = [(ClaimedHost(self._generator.choice(nodes[host])), {})
                  for host in chosen]
        spare = [host for host in hosts if host not in set(chosen)]
        self._generator.shuffle(spare)
        alternates = []
        if self._request.most_alternates:
            alternates = [self._others(claimed.row, spare, nodes)
                          for claimed, _ in picked]
        self._note(picked, alternates)
        return selections.of(self._hosts, picked, alternates, zone)

    def _nodes_by_host(self):
        """Return the hosts to draw from: host name -> rows of its nodes."""
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
        nodes = {}
        for host, row in zip(left.objects('host'), left.rows.tolist(),
                             strict=True):
            nodes.setdefault(host, []).append(row)
        return nodes

    def _others(self, row, spare, nodes):
        """Draw the alternates of a pick, which are in its cell."""
        cell = self._hosts.cell('cell_uuid', row)
        others = []
        for host in spare:
            if len(others) == self._request.most_alternates:
                break
            same_cell = [other for other in nodes[host]
                         if self._hosts.cell('cell_uuid', other) == cell]
            if same_cell:
                others.append((
                    ClaimedHost(self._generator.choice(same_cell)), {}))
        return others

    def _note(self, picked, alternates):
        for index, ((claimed, _), key) in enumerate(
                zip(picked, self._request.keys(), strict=True)):
            self._record.picked(Pick(
                index, key if isinstance(key, str) else None,
                self._hosts.cell('host', claimed.row),
                self._hosts.cell('nodename', claimed.row)))
        self._record.alternates = sum(map(len, alternates))

    def _refuse(self, nova, more=''):
        """Raise NoValidHost in Nova's words, with more for operators."""
        refusals.note(self._record, (), self._hosts, self._request.spec_obj)
        reason = nova + more + reasons.lost_cells(self._record)
        self._record.reason = reason
        raise exception.NoValidHost(reason=reason, nova=nova)
