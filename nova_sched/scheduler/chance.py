"""The chance scheduler: any host whose compute service is enabled and up.

No filters, weighers or consumption; hosts are drawn at random, without
repetition while there are enough.
"""

import random

import numpy as np

from nova_sched import exception
from nova_sched.hosts import budget
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
            self._max_attempts - 1 if return_alternates else 0, context,
            seed=self.new_seed())
        record = self.opened(record, request, offer)
        with record.timed('state'), budget.not_charged():
            self.host_manager.refresh()
            instances = self.host_manager.instances(request.keys())
        _view, hosts = self.hosts(instances, offer.candidates, record)
        return _Draw(request, hosts, record).selections(self._default_zone)


class _Draw:
    """One request, drawn on one snapshot of the hosts."""

    def __init__(self, request, hosts, record):
        self._request, self._hosts, self._record = request, hosts, record
        self._generator = random.Random(request.seed)

    def selections(self, zone):
        """Draw hosts and alternates: lists of Selection.

        Raises NoValidHost.
        """
        if not self._request.count:
            self._record.refuse('no_instances', codes.CONTRADICTION)
            self._refuse(exception.NoValidHost.nova,
                         ' The list of instance uuids is empty')
        up = self._up()
        self._rows, self._host_codes, self._cell_codes = up.rows, *(
            self._hosts.column(name).codes.take(up.rows)
            for name in ('host', 'cell_uuid'))
        hosts, count = _distinct(self._host_codes), self._request.count
        if len(hosts) >= count:
            chosen = self._generator.sample(hosts, count)
        else:
            chosen = self._generator.choices(hosts, k=count)
        places = [self._node(self._host_codes == host) for host in chosen]
        alternates = (self._alternates(places, {*chosen})
                      if self._request.most_alternates else [])
        picked = [self._chosen(self._rows[place]) for place in places]
        self._note(picked, alternates)
        return selections.of(picked, alternates, zone)

    def _node(self, of_host):
        """Draw one of a host's nodes: a place among the rows.

        of_host: which rows are its nodes: bool (n,).
        """
        return self._generator.choice(np.flatnonzero(of_host).tolist())

    def _alternates(self, places, chosen):
        """Draw the alternates of each pick from hosts of its cell.

        places: of the picks among the rows.  chosen: their hosts, a set.
        """
        spare, found = {}, []
        for place in places:
            in_cell = self._cell_codes == self._cell_codes[place]
            cell = self._cell_codes.item(place)
            if cell not in spare:
                spare[cell] = [host for host
                               in _distinct(self._host_codes[in_cell])
                               if host not in chosen]
            hosts = self._generator.sample(spare[cell], min(
                len(spare[cell]), self._request.most_alternates))
            found.append([self._chosen(self._rows[self._node(
                in_cell & (self._host_codes == host))]) for host in hosts])
        return found

    def _chosen(self, row):
        return selections.Chosen(self._hosts, ClaimedHost(int(row)), {})

    def _up(self):
        """Return the rows to draw from: HostBlock."""
        everything = self._hosts.block()
        up = everything.where(everything.service_up
                              & ~everything.service_disabled
                              & ~everything.named(
                                  'cell_uuid', self._hosts.cells.disabled))
        self._record.funnel.step(0, codes.SERVICE_UP, everything.rows, up.rows)
        if not len(up):
            self._refuse('Is the appropriate service running?')
        ignored = self._request.spec_obj.ignore_hosts or []
        left = up.where(~up.named('host', ignored))
        self._record.funnel.step(0, narrowing.IGNORED, up.rows, left.rows)
        if not len(left):
            self._refuse('Could not find another compute')
        return left

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


def _distinct(codes):
    """Return the different ones of int (n,), in order: list."""
    return [*dict.fromkeys(codes.tolist())]
