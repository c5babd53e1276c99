"""A scheduler without effect, and its decisions.

It consists of the service's own parts: ``scheduler.manager`` in front of the
configured driver, filters and weighers. Neither it nor a plug-in claims
hosts, assumes picks or sends notifications.
"""

import contextlib
import dataclasses
import functools
import types

import oslo_messaging as messaging
from oslo_versionedobjects.exception import IncompatibleObjectVersion

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import nova_compat
from nova_sched.dry_run import read_only_placement
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.instances import Instances
from nova_sched.objects import arguments
from nova_sched.scheduler import driver
from nova_sched.scheduler import loading
from nova_sched.scheduler import manager
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.candidates import CandidateSource


@dataclasses.dataclass(frozen=True)
class DryRun:
    """The decision on one request, and the state that it is based on.

    record: the closed hosts.decision.Decision.
    call: the arguments of select_destinations, a dict.
    error: the exception that the caller would receive, or None.
    is_expected: whether the error is part of the RPC interface, as
        NoValidHost is.
    driver: the scheduler.driver.Scheduler that decided.
    table: the HostTable of the decision; None if the driver's host manager
        has no ``view``.
    """

    record: decision.Decision
    call: dict
    error: Exception | None
    is_expected: bool
    driver: driver.Scheduler
    table: object

    @functools.cached_property
    def spec_obj(self):
        """The RequestSpec after the request filters.

        None for an invalid request.
        """
        if self.record.spec_obj is not None:
            return self.record.spec_obj
        with contextlib.suppress(exception.InvalidInput,
                                 IncompatibleObjectVersion):
            return arguments.from_wire(self.call.get('spec_obj'))

    @property
    def offer(self):
        """Placement's candidates: a value of hosts.allocation_candidates."""
        return self.record.offer or PLACEMENT_NOT_USED

    @property
    def request(self):
        """The SchedulingRequest; None for an invalid request."""
        if self.spec_obj is None:
            return None
        # Third-party drivers have the method under the same name.
        options = getattr(self.driver, '_get_configuration_options', dict)
        return SchedulingRequest(
            self.spec_obj, self.call['instance_uuids'],
            self.record.instances, options=options())

    @property
    def ranker(self):
        """The driver's scheduler.ranking.Ranker, or None."""
        return getattr(self.driver, 'ranker', None)

    def snapshot(self):
        """Return a new private HostSnapshot of the state decided on.

        It shows the hosts before the first instance was placed. The locations
        of instances are those of the decision; others are read when a rule
        needs them. None without a ``table``.
        """
        if self.table is None:
            return None
        hosts, instances = (self.driver.host_manager,
                            self.record.state.instances)
        if instances is None:
            instances = hosts.instances()
        else:
            instances = instances.copy()
            instances.start_over()
        return hosts.snapshot(self.table, instances,
                              self.record.state.clock or None, self.offer)


class Decider:
    """A scheduler without effect, for one thread.

    conf: ConfigOpts.
    is_shadow: whether it decides beside a live scheduler. Then a Placement
        that does not answer causes a refusal, as in the service, instead of
        an error; and the mirror of Placement, if configured, is compared with
        Placement's listing.
    reported: column -> value that replaces the reports of all hosts, as of
        overrides.host_ratio.

    Raises InvalidInput if the host manager does not support ``reported``.

    driver: the scheduler.driver.Scheduler.
    placement: ReadOnlyPlacement; None where it is not configured.
    """

    def __init__(self, conf, is_shadow=False, reported=None):
        self._client = read_only_placement.ReadOnlyReportClient(
            conf, is_strict=not is_shadow)
        self.placement = (self._client.placement
                          if config.placement_configured(conf) else None)
        self._conf, self._is_shadow = conf, is_shadow
        # Claims and notifications of plug-ins must have no effect either.
        nova_compat.loaded().limit_plug_ins(self._client)
        self.driver = loading.load_driver(conf)
        self._hosts = getattr(self.driver, 'host_manager', None)
        if self._hosts is not None:
            # A pick without effect must not enter the ledger.
            self._hosts.remembers = False
        if reported:
            self._replace_reported(conf, reported)
        self._records = []
        self._candidates = CandidateSource(conf, self.driver, self._client)
        self._manager = manager.SchedulerManager(
            self.driver, self._candidates, types.SimpleNamespace(
                # The live scheduler may pick any of the hosts.
                records_all_weights=True, generation=1,
                add=self._records.append),
            text='full', limits=manager.Limits.of(conf))

    def _replace_reported(self, conf, reported):
        replace = getattr(self._hosts, 'replace_reported', None)
        if replace is None:
            raise exception.InvalidInput(
                reason=f'--host-ratio: the host manager of '
                       f'{config.driver_name(conf)} is not one that can be '
                       'told what hosts report')
        replace(reported)

    def start(self):
        """Start the driver, and a shadow's mirror of Placement.

        Raises DatabaseUnavailable.
        """
        self.driver.start()
        if self._is_shadow:
            self._candidates.start()

    def stop(self):
        """Release the resources that ``start`` acquired."""
        self._candidates.stop()
        self.driver.stop()

    @property
    def listing(self):
        """The Listing of the last call; None where Placement is not used."""
        return self.placement and self._client.listing

    def decide(self, caller, call):
        """Decide a call of select_destinations: DryRun, also for errors.

        caller: RequestContext.  call: the arguments, a dict.
        """
        self._records.clear()
        self._client.listing = read_only_placement.Listing()
        error, is_expected = None, False
        try:
            self._manager.select_destinations(caller, **call)
        except messaging.ExpectedException as exc:
            error, is_expected = exc.exc_info[1], True
        except Exception as exc:
            error = exc
        [record] = self._records or [
            decision.Decision(request_id=caller.request_id)]
        record.close(decision.FAILED)
        return DryRun(record, call, error, is_expected, self.driver,
                      self.table())

    def refresh(self):
        """Read the hosts again, and return whether they were read.

        A driver with periodic tasks reads its hosts only there.
        Raises DatabaseUnavailable.
        """
        # An adapted driver for Nova also reads the hosts at each request.
        reads_later = self.driver.PERIODIC and not getattr(
            self.driver, 'NO_ARG_CONSTRUCTOR', False)
        if reads_later or not hasattr(self._hosts, 'refresh'):
            return False
        self._hosts.refresh()
        return True

    def read_hosts(self):
        """Read the hosts, and return a private HostSnapshot of them.

        Raises DatabaseUnavailable; InvalidInput if the driver has no filters
        and host table.
        """
        if not (getattr(self.driver, 'ranker', None)
                and hasattr(self._hosts, 'view')):
            raise exception.InvalidInput(
                reason=f'the driver {config.driver_name(self._conf)} has no '
                       'filters and hosts that can be read; '
                       '--set scheduler.driver=filter_scheduler')
        self._hosts.refresh()
        return self.snapshot(self.table())

    def snapshot(self, table, has_instances=True):
        """Return a private HostSnapshot of a HostTable.

        has_instances: False for hosts without instances.
        """
        return self._hosts.snapshot(
            table, self._hosts.instances() if has_instances
            else Instances(lambda uuids: {}, lambda *names: []))

    def queries(self, caller, spec_obj):
        """Return a request after the request filters, and its queries: list.

        The list is None where Placement is not used.
        caller: RequestContext.  See CandidateSource.queries for exceptions.
        """
        if self.placement is None:
            return spec_obj, None
        return self._candidates.queries(caller, spec_obj, decision.Decision())

    def table(self):
        """Return the HostTable read by the last decision or ``refresh``.

        None if the driver's host manager has no ``view``.
        """
        return (self._hosts.view().table if hasattr(self._hosts, 'view')
                else None)
