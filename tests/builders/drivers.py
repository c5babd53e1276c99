"""Drivers on hosts in memory, without a database."""

import oslo_messaging as messaging

from nova_sched import context
from nova_sched import nova_compat
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import State
from nova_sched.hosts.decision import Weighing
from nova_sched.inventory.state import View
from nova_sched.observe import recorder
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler import manager
from nova_sched.scheduler.candidates import CandidateSource
from tests.builders import hosts
from tests.builders import rules

CELL1 = '00000000-0000-0000-0000-0000000000c1'
CELL2 = '00000000-0000-0000-0000-0000000000c2'


class MemoryScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler on the same hosts for each request.

    records: as for hosts.table.
    seed: of each request's random generator; None for random seeds.
    running: instances, see hosts.instances_on.
    options: of the configuration, see rules.a_conf.
    """

    def __init__(self, *records, seed=None, running=None, **options):
        super().__init__(rules.a_conf(**options))
        self._hosts, self.seed = hosts.table(*records), seed
        self._running = running or {}
        self.host_manager.remembers = False
        #: The record of the last request.
        self.decision = None

    def _read_hosts(self, record, offer):
        pass

    def hosts(self, instances, candidates, record):
        table = self._hosts
        record.state = State(hosts=table.size)
        snapshot = table.snapshot(hosts.instances_on(self._running, {}),
                                  candidates)
        snapshot.moment = 0.0
        return View(table, 0, 0), snapshot

    def opened(self, record, *args):
        self.decision = super().opened(
            record or Decision(weighing=Weighing(keeps_all=True)), *args)
        return self.decision

    def new_seed(self):
        return super().new_seed() if self.seed is None else self.seed


class Records:
    """A recorder that keeps the records in a list, oldest first."""

    generation, records_all_weights = 1, False

    def __init__(self):
        self.decisions = []

    def add(self, record):
        recorder.log(record)
        self.decisions.append(record)


def door(driver, conf=None, **kwargs):
    """The RPC endpoint of a driver, with ``Records``.

    conf: ConfigOpts with [placement]; by default without Placement.
    kwargs: of SchedulerManager.
    """
    driver = adapted(driver)
    return manager.SchedulerManager(
        driver, CandidateSource(conf or rules.a_conf(), driver),
        Records(), **kwargs)


def adapted(driver):
    """A driver with the adapters that loading it would add.

    It shares all attributes with the given driver.
    """
    cls = nova_compat.loaded().driver_class(
        type(driver), '[scheduler] driver')
    if isinstance(driver, (cls, MemoryScheduler)):
        return driver
    made = cls.__new__(cls)
    made.__dict__ = driver.__dict__
    return made


def select(driver, spec, instance_uuids=None, **kwargs):
    """A driver's answer to a request: lists of Selection."""
    return driver.select_destinations(
        context.RequestContext(), spec, instance_uuids, **kwargs)


def ask(door, spec, uuids, **kwargs):
    """An RPC endpoint's answer with Selections; its errors are raised.

    kwargs: of select_destinations.
    """
    try:
        return door.select_destinations(
            context.RequestContext(user_id='u'), instance_uuids=uuids,
            spec_obj=spec.obj_to_primitive(), return_objects=True, **kwargs)
    except messaging.ExpectedException as error:
        raise error.exc_info[1] from None


def hosts_in(answer):
    """The names of the picked hosts in an endpoint's answer."""
    return [chosen[0]['nova_object.data']['service_host'] for chosen in answer]


def free_ram_mb(driver):
    """{host: free MB} as the next request sees the hosts of a driver."""
    table = driver.host_manager.view().table
    return dict(zip(table.columns['host'].items(),
                    table.columns['free_ram_mb'].tolist(), strict=True))


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
