"""The chance scheduler: any host with an enabled compute service that is up.

It runs no filters or weighers and does not consume resources.  Hosts are drawn
at random, without repetition while there are enough.
"""

import functools
import random

import numpy as np

from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.hosts.decision import Pick
from nova_sched.rules import codes
from nova_sched.rules import narrowing
from nova_sched.rules import reasons
from nova_sched.scheduler import driver
from nova_sched.scheduler import refusals
from nova_sched.scheduler import selections
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.claims import ClaimedHost
from nova_sched.scheduler.offer import NO_OFFER


class ChanceScheduler(driver.HostScheduler):
    """Draws hosts at random among the hosts that are up."""

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
        picks, alternates = _draw(request, _hosts_up(request, hosts, record))
        for index, (pick, key) in enumerate(
                zip(picks, request.keys(), strict=True)):
            # A tuple is the made-up key of an instance without a uuid.
            record.picked(Pick(index, key if isinstance(key, str) else None,
                               *hosts.names(pick.claimed.row)))
        record.alternates = sum(map(len, alternates))
        return selections.of(picks, alternates, self._default_zone)


def _hosts_up(request, hosts, record):
    """Return the hosts to draw from: HostBlock.

    Raises NoValidHost if there are none, or no instances.
    """
    def refuse(nova_message, operator_detail=''):
        refusals.note(record, (), hosts, request.spec_obj)
        record.reason = (nova_message + operator_detail
                         + reasons.lost_cells(record))
        raise exception.NoValidHost(reason=record.reason, nova=nova_message)

    if not request.count:
        record.refuse('no_instances', codes.CONTRADICTION)
        refuse(exception.NoValidHost.nova,
               ' The list of instance uuids is empty')
    everything = hosts.block()
    up = everything.where(
        everything.service_up & ~everything.service_disabled
        & ~everything.named('cell_uuid', hosts.cells.disabled))
    record.funnel.step(0, codes.SERVICE_UP, everything.rows, up.rows)
    if not len(up):
        refuse('Is the appropriate service running?')
    passing = up.where(
        ~up.named('host', request.spec_obj.ignore_hosts or []))
    record.funnel.step(0, narrowing.IGNORED, up.rows, passing.rows)
    if not len(passing):
        refuse('Could not find another compute')
    return passing


def _draw(request, block):
    """Draw the picks and the alternates of each pick.

    block: HostBlock to draw from.  Alternates are in the cell of their pick.
    Returns a tuple of (list of Chosen, list of lists of Chosen); the second is
    empty if the caller requested no alternates.
    """
    snapshot, most = block.snapshot, request.most_alternates
    generator = random.Random(request.seed)
    host_codes, cell_codes = (snapshot.column(name).codes.take(block.rows)
                              for name in ('host', 'cell_uuid'))

    def draw_node(is_node_of_host):
        """Draw the position of one of a host's nodes in the block."""
        return generator.choice(np.flatnonzero(is_node_of_host).tolist())

    def chosen(position):
        return selections.Chosen(
            snapshot, ClaimedHost(block.rows.item(position)), {})

    distinct_hosts = _distinct(host_codes)
    drawn = (generator.sample(distinct_hosts, request.count)
             if len(distinct_hosts) >= request.count
             else generator.choices(distinct_hosts, k=request.count))
    positions = [draw_node(host_codes == host) for host in drawn]
    drawn = {*drawn}

    @functools.cache
    def spare_hosts(cell):
        """Return the hosts of a cell that are not picked: list of codes."""
        return [host for host in _distinct(host_codes[cell_codes == cell])
                if host not in drawn]

    alternates = []
    for position in positions if most else ():
        cell = cell_codes.item(position)
        alternates.append([
            chosen(draw_node((cell_codes == cell) & (host_codes == host)))
            for host in generator.sample(
                spare_hosts(cell), min(len(spare_hosts(cell)), most))])
    return [*map(chosen, positions)], alternates


def _distinct(values):
    """Return the distinct values of an array, in order of appearance: list."""
    return [*dict.fromkeys(values.tolist())]
