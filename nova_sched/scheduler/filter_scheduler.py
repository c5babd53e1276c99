"""The filter scheduler: filter the hosts, weigh what is left, pick the best.

``FilterScheduler.select_destinations``:

1. A private snapshot of state read after the request arrived
   (``TableScheduler``), of which Placement's candidates are looked at
   (``_offered``).
2. Per instance: filter and weigh what the previous instance's filters left
   (``Ranker.ranked``), choose among the best (``_choose``), take the first
   that can be claimed (``Claims.take``), and consume the pick on the snapshot
   (``_place``).
3. Too few picks: claims are given back, NoValidHost with the reasons counted
   (``_refuse``).
4. Alternates for each pick, from its own cell (``_alternates``).
"""

import itertools
import random
import time

import numpy as np
from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.offer import Claims
from nova_sched.plugins import loading as plugins
from nova_sched.rules import ranking
from nova_sched.scheduler import scheduler_options
from nova_sched.scheduler import table_scheduler

LOG = logging.getLogger(__name__)


class FilterScheduler(table_scheduler.TableScheduler):
    """Decides every request on state that was read after it arrived."""

    def __init__(self, conf):
        super().__init__(conf)
        self.ranker = plugins.load_ranker(conf)
        self._options = scheduler_options.SchedulerOptions(
            conf.scheduler_json_config_location)
        self._subset_size = max(1, conf.filter_scheduler.host_subset_size)
        self._shuffle = conf.filter_scheduler.shuffle_best_same_weighed_hosts

    def _select(self, snapshot, spec, instance_uuids, return_alternates,
                decision):
        """Steps 2 to 4 of the module's list, on one snapshot."""
        decision.hosts = snapshot.size
        self._check_count(decision, spec)
        unknown = _unknown_host(snapshot, spec)
        if unknown:
            self._no_valid_host(decision, spec, unknown)
        _prepare_group(snapshot, spec)
        spec.config_options = self._options.get_configuration()
        draw = random.Random(decision.seed)
        claims = Claims(snapshot.candidates, spec, instance_uuids)
        try:
            picked, ranked = self._pick_all(
                snapshot, spec, instance_uuids, decision, claims, draw)
            if len(picked) < decision.instances:
                self._refuse(snapshot, spec, picked, decision)
            alternates = []
            if return_alternates:
                alternates = self._alternates(
                    snapshot, spec, picked, ranked, decision, claims, draw)
            answer = self._selections(snapshot, picked, alternates,
                                      claims.version)
        except BaseException:
            claims.release()
            raise
        self._finish(decision, spec)
        return answer

    def _pick_all(self, snapshot, spec, instance_uuids, decision, claims,
                  draw):
        """A host for each instance, as far as there are any.

        Returns a list of (Taken, limits), and the last Ranked hosts.
        """
        picked, ranked = [], None
        hosts = _offered(snapshot, decision)
        for index in range(decision.instances):
            uuid = instance_uuids[index] if instance_uuids else None
            if uuid is not None:
                spec.instance_uuid = uuid
            spec.forget_mapping()
            ranked = self._ranked(hosts, spec, index, decision, draw)
            taken = claims.take(ranked.hosts, uuid)
            if taken is None:
                rows = ranked.hosts.rows
                if len(rows):
                    decision.step(index, 'claims refused', rows, rows[:0])
                break
            limits = snapshot.limits(taken.row)
            picked.append((taken, limits))
            decision.picks.append(_pick(index, ranked, taken.row))
            self._place(snapshot, taken, spec, uuid, limits)
            hosts = ranked.hosts
        return picked, ranked

    def _ranked(self, hosts, spec, index, decision, draw):
        """Ranked hosts with the chosen one in front."""
        ranked = self.ranker.ranked(hosts, spec, index, decision)
        order = self._choose(ranked.weighed, draw)
        if order is None:
            return ranked
        return ranking.Ranked(hosts.snapshot.block(ranked.weighed.rows[order]),
                              ranked.weighed, ranked.filtered)

    def _choose(self, weighed, draw):
        """Draw among the best: new order of positions, None to keep theirs.

        With the shuffle option the hosts that weigh exactly as much as the
        best are put in random order; then one of the first host_subset_size
        moves to the front and all others keep their order.
        """
        order = list(range(len(weighed.rows)))
        if not order or (not self._shuffle and self._subset_size == 1):
            return None
        if self._shuffle:
            ties = int((weighed.weights == weighed.weights[0]).sum())
            best = order[:ties]
            draw.shuffle(best)
            order[:ties] = best
        chosen = draw.randrange(min(self._subset_size, len(order)))
        order.insert(0, order.pop(chosen))
        return order

    @staticmethod
    def _place(snapshot, taken, spec, instance_uuid, limits):
        """Consume an instance on the snapshot, for its successors to see.

        instance_uuid: None from callers that send none; such an instance
            joins its group under a uuid made up for this request.
        """
        snapshot.consume(taken.row, spec, time.time(), taken.mapping, limits)
        group = spec.instance_group
        if group is None:
            return
        if instance_uuid is None:
            instance_uuid = uuidutils.generate_uuid()
            group.members.append(instance_uuid)
        host = snapshot.cell('host', taken.row)
        group.hosts.append(host)
        snapshot.instances.place(instance_uuid, host)

    def _refuse(self, snapshot, spec, picked, decision):
        LOG.debug('There are %(hosts)d hosts available but '
                  '%(required_count)d instances requested to build.',
                  {'hosts': len(picked),
                   'required_count': decision.instances})
        reason = decision.reasons(snapshot, spec)
        if picked:
            reason = (f'{len(picked)} of {decision.instances} instances '
                      f'could be placed; {reason}')
        self._finish(decision, spec, reason)
        raise exception.NoValidHost(
            reason=f'There are not enough hosts available. {reason}')

    def _alternates(self, snapshot, spec, picked, ranked, decision, claims,
                    draw):
        """Hosts that could take an instance instead of its pick.

        Returns per instance a list of (Taken, limits): hosts of the pick's
        cell that are nobody's pick and have something to claim, in order of
        weight, at most max_attempts - 1.
        """
        wanted = self._max_attempts - 1
        if wanted < 1:
            return []
        if len(picked) > 1:
            scratch = Decision(decision.request_id, decision.instance_uuid,
                               decision.instances, decision.seed)
            ranked = self._ranked(ranked.hosts, spec, len(picked) - 1,
                                  scratch, draw)
        picks = [taken.row for taken, _ in picked]
        rows = ranked.hosts.rows
        rows = rows[~np.isin(rows, picks)]
        cells = snapshot.column('cell_uuid').codes
        by_cell = {}
        for cell in np.unique(cells[picks]).tolist():
            others = (claims.first_of(snapshot, row)
                      for row in rows[cells[rows] == cell].tolist())
            by_cell[cell] = [
                (taken, snapshot.limits(taken.row))
                for taken in itertools.islice(filter(None, others), wanted)]
        alternates = [by_cell[cells.item(row)] for row in picks]
        decision.alternates = sum(map(len, alternates))
        return alternates


def _offered(snapshot, decision):
    """The hosts of which Placement says that they could do: HostBlock."""
    hosts = snapshot.block()
    if snapshot.candidates is None:
        return hosts
    offered = hosts.where(hosts.named('uuid', snapshot.candidates.providers))
    decision.step(0, 'allocation candidates', hosts.rows, offered.rows)
    return offered


def _pick(index, ranked, row):
    """The record of an instance's host."""
    state = ranked.hosts.snapshot.state(row)
    LOG.debug('Selected host: %(host)s', {'host': state})
    position = int(np.flatnonzero(ranked.weighed.rows == row)[0])
    return Pick(index, state.host, state.nodename,
                float(ranked.weighed.weights[position]),
                ranked.weighed.parts(position))


def _unknown_host(snapshot, spec):
    """Why a host or node that the request names cannot be had, or None.

    Of several forced ones each may be the right one.
    """
    wanted, hosts = spec.requested_destination, snapshot.block()
    if wanted is not None and wanted.host is not None:
        names, nodes = [wanted.host], [wanted.node]
        known_host = hosts.named('host', names).any()
    else:
        names, nodes = spec.force_hosts or [None], spec.force_nodes or [None]
        # Only forced hosts are compared without regard to case.
        folded = {name.lower() for name in spec.force_hosts or ()}
        known_host = not folded or hosts.judge(
            'host', lambda name: name.lower() in folded).any()
    known_node = not any(nodes) or hosts.named('nodename', nodes).any()
    if known_host and known_node:
        return None
    return f'No such host - host: {names[0]} node: {nodes[0]} '


def _prepare_group(snapshot, spec):
    """Give the server group lists of members and hosts that picks can join.

    A caller that has not said where the members run has them looked up.
    """
    group = spec.instance_group
    if group is None:
        return
    if group.hosts is None:
        located = snapshot.instances.running(group.members or ())
        group.hosts = sorted(set(located.values()))
    group.members = list(group.members or ())
    group.hosts = list(group.hosts)
