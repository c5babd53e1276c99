"""Drivers on hosts in memory: no database behind them."""

from nova_sched import context
from nova_sched.scheduler import filter_scheduler
from tests.builders import hosts
from tests.builders import rules

CELL1 = '00000000-0000-0000-0000-0000000000c1'
CELL2 = '00000000-0000-0000-0000-0000000000c2'


class MemoryScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler on these hosts, the same for every request.

    records: as for hosts.table.
    seed: of every request's random generator; None for another one each.
    running: of the instances there are, see hosts.instances_on.
    options: of the configuration, see rules.a_conf.
    """

    def __init__(self, *records, seed=None, running=None, **options):
        super().__init__(rules.a_conf(**options))
        self._hosts, self.seed = hosts.table(*records), seed
        self._running = running or {}

    def _snapshot(self, candidates):
        return self._hosts.snapshot(hosts.instances_on(self._running, {}),
                                    candidates)

    def _new_decision(self, context, spec, instance_uuids):
        decision = super()._new_decision(context, spec, instance_uuids)
        if self.seed is not None:
            decision.seed = self.seed
        return decision

    @property
    def decision(self):
        """The record of the last request."""
        return self.decisions[-1]


def select(driver, spec, instance_uuids=None, **kwargs):
    """What a driver answers to a request: lists of Selection."""
    return driver.select_destinations(
        context.RequestContext(), spec, instance_uuids, **kwargs)


def hosts_of(selections):
    """Host names of an answer: one list an instance, the pick first."""
    return [[selection.service_host for selection in chosen]
            for chosen in selections]


def picks(driver, spec, instance_uuids=None):
    """The names of the picked hosts, one an instance."""
    return [chosen[0] for chosen
            in hosts_of(select(driver, spec, instance_uuids))]


def with_alternates(driver, spec, instance_uuids=None):
    """The names of picked and alternate hosts, one list an instance."""
    return hosts_of(select(driver, spec, instance_uuids,
                           return_alternates=True))
