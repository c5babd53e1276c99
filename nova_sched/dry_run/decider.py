"""A scheduler whose decisions have no effect, and what it decides.

It is the service's own: ``scheduler.manager`` in front of the configured
driver, filters and weighers.  It claims nothing, has nothing in flight, tells
nobody, and lets plug-ins do no more.
"""

import contextlib
import dataclasses

import oslo_messaging as messaging

from nova_sched import exception
from nova_sched import objects
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.plugins.nova import reach
from nova_sched.scheduler import driver
from nova_sched.scheduler import manager
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.candidates import CandidateSource


@dataclasses.dataclass(frozen=True)
class Rehearsed:
    """What was decided of one request, and on what.

    record: the closed hosts.decision.Decision.
    spec_obj: RequestSpec as it was decided, after the request filters; None
        for a request that cannot be read.
    uuids: of the instances, a list, or None.
    answer: what the caller gets; None without a host for each instance.
    error: the exception that the caller gets instead, or None.
    is_expected: whether it is one that requests may well end in.
    driver: the scheduler.driver.Scheduler that decided.
    table: HostTable that was decided on; None if the driver's host manager
        has no ``view``.
    """

    record: decision.Decision
    spec_obj: object
    uuids: list | None
    answer: list | None
    error: Exception | None
    is_expected: bool
    driver: driver.Scheduler
    table: object

    @property
    def offer(self):
        """What Placement offers: a value of hosts.allocation_candidates."""
        return (PLACEMENT_NOT_USED if self.record.offer is None
                else self.record.offer)

    @property
    def selections(self):
        """A list of Selection an instance, the chosen one first.

        Of a call with ``return_objects``.
        """
        return [[objects.Selection.obj_from_primitive(envelope)
                 for envelope in chosen] for chosen in self.answer or ()]

    @property
    def request(self):
        """The SchedulingRequest of it; None for one that cannot be read."""
        if self.spec_obj is None:
            return None
        # By Nova's name, and so of drivers of a third party as well.
        options = getattr(self.driver, '_get_configuration_options', dict)
        return SchedulingRequest(self.spec_obj, self.uuids,
                                 self.record.instances, options=options())

    @property
    def ranker(self):
        """The rules.ranking.Ranker of the filters and weighers.

        None of a driver that has none.
        """
        return getattr(self.driver, 'ranker', None)

    def snapshot(self):
        """Return a new private HostSnapshot of the state decided on.

        As it was before the first instance was placed; where instances run is
        read from the database when a rule asks.  None without a ``table``.
        """
        if self.table is None:
            return None
        hosts, request = self.driver.host_manager, self.request
        instances = hosts.instances(() if request is None else request.keys())
        if request is not None and self.ranker is not None:
            with contextlib.suppress(exception.DatabaseUnavailable):
                self._look_up(instances)
        return hosts.snapshot(self.table, instances,
                              self.record.clock or None, self.offer)

    def _look_up(self, instances):
        """Read where instances run that copies of the hosts share."""
        hosts = self.driver.host_manager
        if self.ranker.needs_all_instances(self.spec_obj):
            hosts.list_all(instances)
        for name in self.ranker.instance_columns:
            hosts.list_each(instances, name)


class Decider:
    """A scheduler without effect; for use by one thread.

    conf: ConfigOpts.
    client: read_only_placement.ReadOnlyReportClient.

    driver: the scheduler.driver.Scheduler.
    """

    def __init__(self, conf, client):
        # Plug-ins that claim or send by themselves have no effect either.
        reach.limit(client)
        self.driver = driver.load_driver(conf)
        if hasattr(self.driver, 'host_manager'):
            # A pick that has no effect is not in flight.
            self.driver.host_manager.remembers = False
        if hasattr(self.driver, 'placement_client'):
            self.driver.placement_client = client
        self._recorder = _LastRecord()
        self._candidates = _LastRequest(conf, self.driver, client)
        self._manager = manager.SchedulerManager(
            self.driver, self._candidates, self._recorder, text='full',
            limits=manager.Limits.of(conf))

    def start(self):
        """Start the driver.  Raises DatabaseUnavailable."""
        self.driver.start()

    def stop(self):
        """Let go of what ``start`` acquired."""
        self.driver.stop()

    def decide(self, caller, call):
        """Decide a call of select_destinations: Rehearsed, whatever comes.

        caller: RequestContext.  call: its arguments, a dict.
        """
        self._recorder.record = self._candidates.spec_obj = None
        answer, error, is_expected = None, None, False
        try:
            answer = self._manager.select_destinations(caller, **call)
        except messaging.ExpectedException as exc:
            # The manager logs what it is about.
            error, is_expected = exc.exc_info[1], True
        except Exception as exc:
            error = exc
        record = self._recorder.record or decision.Decision(
            request_id=caller.request_id)
        record.close(decision.FAILED)
        return Rehearsed(
            record, self._candidates.spec_obj, call.get('instance_uuids'),
            answer, error, is_expected, self.driver, self.table())

    def refresh(self):
        """Read the hosts again; return whether it did.

        It does not for a driver that reads them in its periodic work only.
        Raises DatabaseUnavailable.
        """
        refresh = getattr(getattr(self.driver, 'host_manager', None),
                          'refresh', None)
        # A driver of Nova's form reads the hosts at each request as well.
        reads_later = self.driver.PERIODIC and not getattr(
            self.driver, 'NO_ARG_CONSTRUCTOR', False)
        if refresh is None or reads_later:
            return False
        refresh()
        return True

    def table(self):
        """Return the HostTable last read, for a decision or by ``refresh``.

        None if the driver's host manager has no ``view``.
        """
        view = getattr(getattr(self.driver, 'host_manager', None), 'view',
                       None)
        return None if view is None else view().table


class _LastRecord:
    """A recorder for the manager that keeps the last record only.

    Records keep all weights: any host may be the one that others chose.
    """

    generation, keeps_all_weights = 1, True

    def __init__(self):
        self.record = None

    def add(self, record):
        self.record = record


class _LastRequest(CandidateSource):
    """A source that keeps the last RequestSpec, as it is decided."""

    spec_obj = None

    def fetch(self, context, spec_obj, record):
        self.spec_obj = spec_obj
        return super().fetch(context, spec_obj, record)

    def edited(self, context, spec_obj):
        self.spec_obj = super().edited(context, spec_obj)
        return self.spec_obj
