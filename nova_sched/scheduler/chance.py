"""The chance scheduler: any host whose compute service is enabled and up.

No filters, weighers or consumption; hosts are drawn at random, without
repetition while there are enough.
"""

import random

from nova_sched.hosts.decision import Pick
from nova_sched.hosts.offer import Taken
from nova_sched.scheduler import table_scheduler


class ChanceScheduler(table_scheduler.TableScheduler):
    """Draws hosts at random among those that are up."""

    USES_ALLOCATION_CANDIDATES = False

    def _select(self, snapshot, spec, instance_uuids, return_alternates,
                decision):
        decision.hosts = snapshot.size
        self._check_count(decision, spec)
        draw = random.Random(decision.seed)
        nodes = self._nodes_by_host(snapshot, spec, decision)
        hosts = sorted(nodes)
        wanted = decision.instances
        if len(hosts) >= wanted:
            chosen = draw.sample(hosts, wanted)
        else:
            chosen = [draw.choice(hosts) for _ in range(wanted)]
        picked = [(Taken(draw.choice(nodes[host]), None), {})
                  for host in chosen]
        spare = [host for host in hosts if host not in set(chosen)]
        draw.shuffle(spare)
        alternates = []
        if return_alternates:
            alternates = [self._others(snapshot, taken.row, spare, nodes, draw)
                          for taken, _ in picked]
            decision.alternates = sum(map(len, alternates))
        self._record(snapshot, picked, decision)
        self._finish(decision, spec)
        return self._selections(snapshot, picked, alternates)

    def _nodes_by_host(self, snapshot, spec, decision):
        """host name -> rows of its nodes, of the hosts to draw from."""
        everything = snapshot.block()
        up = everything.where(everything.service_up
                              & ~everything.service_disabled)
        decision.step(0, 'service up', everything.rows, up.rows)
        if not len(up):
            self._no_valid_host(decision, spec,
                                'Is the appropriate service running?')
        left = up.where(~up.named('host', spec.ignore_hosts or []))
        decision.step(0, 'ignore_hosts', up.rows, left.rows)
        if not len(left):
            self._no_valid_host(decision, spec,
                                'Could not find another compute')
        nodes = {}
        for host, row in zip(left.objects('host'), left.rows.tolist(),
                             strict=True):
            nodes.setdefault(host, []).append(row)
        return nodes

    def _others(self, snapshot, row, spare, nodes, draw):
        """Up to max_attempts - 1 alternates from the cell of a pick."""
        cell = snapshot.cell('cell_uuid', row)
        others, wanted = [], self._max_attempts - 1
        for host in spare:
            if len(others) == wanted:
                break
            same_cell = [other for other in nodes[host]
                         if snapshot.cell('cell_uuid', other) == cell]
            if same_cell:
                others.append((Taken(draw.choice(same_cell), None), {}))
        return others

    @staticmethod
    def _record(snapshot, picked, decision):
        for index, (taken, _) in enumerate(picked):
            decision.picks.append(Pick(
                index, snapshot.cell('host', taken.row),
                snapshot.cell('nodename', taken.row), 0.0, ()))
