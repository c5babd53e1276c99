"""The RPC endpoint of the scheduler.

Arguments and replies are in their serialized forms.  Every historical form of
a request becomes one ``RequestSpec`` here, and the reply has the form of the
caller's RPC version.
"""

import bdb
import dataclasses
import functools
import sys

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_versionedobjects.exception import IncompatibleObjectVersion

from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.hosts import budget
from nova_sched.hosts import decision
from nova_sched.objects import arguments
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import selection
from nova_sched.placement import releases
from nova_sched.rpc import call_scope
from nova_sched.rules import codes
from nova_sched.scheduler import driver

LOG = logging.getLogger(__name__)

_UNSET = object()

#: Errors that are sent to the caller and logged without a traceback.
_EXPECTED = (exception.NoValidHost, exception.InvalidInput,
             exception.DatabaseUnavailable, exception.PlacementUnavailable,
             exception.AllocationUpdateFailed, IncompatibleObjectVersion)
#: Expected errors that mean 'no host', as opposed to faults.
_REFUSALS = (exception.NoValidHost, exception.InvalidInput,
             IncompatibleObjectVersion)
#: Errors with a text for callers that ``[nova_sched] no_valid_host_text``
#: chooses.
_WITH_CHOSEN_TEXT = (
    exception.NoValidHost, exception.InvalidInput,
    exception.ComputeHostMetricNotFound, exception.DatabaseUnavailable,
    exception.PlacementUnavailable)


#: Exception -> code and kind of the refusal, unless one was recorded before.
_CODES = {
    exception.NoValidHost: ('no_reason', None),
    exception.InvalidInput: ('invalid_request', codes.CONTRADICTION),
    IncompatibleObjectVersion: ('incompatible_version', codes.CONTRADICTION),
    exception.DatabaseUnavailable: (
        'database_unavailable', codes.STATE_STALE),
    exception.PlacementUnavailable: (
        'placement_unavailable', codes.STATE_STALE),
    exception.AllocationUpdateFailed: ('claim_conflict', codes.RACED),
    exception.ComputeHostMetricNotFound: ('metrics', None)}


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of one request.

    instances: maximum number of instances.
    seconds: maximum CPU time; 0 for unlimited.
    """

    instances: int = bounds.INSTANCES
    seconds: float = 0

    @classmethod
    def of(cls, conf):
        """Return the limits that options in ``[nova_sched]`` set."""
        return cls(conf.nova_sched.max_instances_per_request,
                   conf.nova_sched.request_time_budget)

    def check(self, record, spec_obj):
        """Raise InvalidInput for a request that exceeds the limits.

        record: its Decision.  spec_obj: its RequestSpec.
        """
        fields.check_size(
            'the request', record.instances, self.instances, 'instances',
            'by [nova_sched] max_instances_per_request')
        # Each instance is compared with all names in these lists.
        names = {name: getattr(spec_obj, name)
                 for name in ('ignore_hosts', 'force_hosts', 'force_nodes')}
        group = spec_obj.instance_group
        if group is not None:
            names |= {'instance_group.members': group.members,
                      'instance_group.hosts': group.hosts}
        for field, listed in names.items():
            fields.check_size(f'{field} times instances',
                              len(listed or ()) * record.instances,
                              bounds.NAMED_WORK)
        budget.check('arguments')


class SchedulerManager:
    """RPC endpoint of the scheduler: version 4.5 of Nova's interface.

    driver: a scheduler.driver.Scheduler that has been started.
    candidate_source: scheduler.candidates.CandidateSource for that driver.
    recorder: observe.recorder.Recorder for the records of requests.
    notifications: observe.notifications.Notifications for requests of drivers
        that notify; None to send none.
    text: detail of the reason that callers receive, a choice of ``[nova_sched]
        no_valid_host_text``.  Records always have the full reason.
    limits: Limits of one request.
    """

    target = messaging.Target(version='4.5')
    #: Names of the RPC methods.
    CALLS = frozenset((
        'select_destinations', 'update_aggregates', 'delete_aggregate',
        'update_instance_info', 'delete_instance_info',
        'sync_instance_info'))

    def __init__(self, driver, candidate_source, recorder, notifications=None,
                 text='filters', limits=None):
        self.serve(driver, candidate_source, text, limits or Limits())
        self.recorder = recorder
        self._notifications = notifications

    @property
    def driver(self):
        """The driver in use."""
        return self._serving[0]

    @property
    def candidate_source(self):
        """The CandidateSource in use."""
        return self._serving[1]

    def serve(self, driver, candidate_source, text, limits):
        """Use another driver from the next request on."""
        self._serving, self._text = (driver, candidate_source), text
        self._limits = limits

    @messaging.expected_exceptions(*_EXPECTED)
    def select_destinations(self, ctxt, request_spec=None,
                            filter_properties=None, spec_obj=_UNSET,
                            instance_uuids=None, return_objects=False,
                            return_alternates=False):
        """Choose a host for each instance of a request.

        spec_obj: RequestSpec; callers below version 4.3 send the dicts
            request_spec and filter_properties instead.
        instance_uuids: a text per instance, or null from old callers.
        return_objects: False gives one dict an instance (host, nodename,
            limits), True a list of Selection objects an instance.
        return_alternates: with return_objects, other hosts follow the
            selected one in each list.

        Raises NoValidHost when not every instance gets a host, InvalidInput
        when the request is wrong (it names the field),
        IncompatibleObjectVersion for objects of an unknown major version,
        AllocationUpdateFailed when something else claims for the same
        instance, DatabaseUnavailable and PlacementUnavailable.
        """
        call = {'instance_uuids': instance_uuids,
                'return_objects': return_objects,
                'return_alternates': return_alternates}
        if spec_obj is _UNSET:
            call |= {'request_spec': request_spec,
                     'filter_properties': filter_properties}
        else:
            call['spec_obj'] = spec_obj
        record = decision.Decision(
            request_id=getattr(ctxt, 'request_id', None), request=call,
            generation=self.recorder.generation,
            weighing=decision.Weighing(self.recorder.records_all_weights))
        record.arrived -= (queued := turns.waited())
        record.spent('wait', queued)
        LOG.debug('Starting to schedule for instances: %s', instance_uuids)
        try:
            with budget.charged(budget.Budget(self._limits.seconds)):
                return self._answer(ctxt, call, record)
        except _WITH_CHOSEN_TEXT as exc:
            _close(record, exc)
            # A new exception, because oslo.messaging would also send the
            # cause and the notes in the traceback.
            raise exc.for_caller(self._text) from None
        except BaseException as exc:
            _close(record, exc)
            raise
        finally:
            call_scope.after_reply(functools.partial(self._keep, record))

    def _keep(self, record):
        """Pass a closed record to the recorder; log an error."""
        try:
            self.recorder.add(record)
        except Exception:
            # A recording failure must not fail the request.
            LOG.exception('The record of request %s is lost',
                          record.request_id)

    def _answer(self, ctxt, call, record):
        """Return the reply to one call, and close its record."""
        spec_obj, uuids = _read(call, record), call['instance_uuids']
        as_objects, alternates = (
            arguments.flag(name, call[name])
            for name in ('return_objects', 'return_alternates'))
        spec_obj._context = ctxt
        record.instance_uuid = spec_obj.instance_uuid
        record.instances = driver.Scheduler.count(spec_obj, uuids)
        self._limits.check(record, spec_obj)
        serving, candidate_source = self._serving
        spec_obj, offer = candidate_source.fetch(ctxt, spec_obj, record)
        if offer.candidates.is_used:
            record.spec_obj = spec_obj
            arguments.check_distinct(uuids)
        notifications = self._notifications if serving.NOTIFIES else None
        if notifications is not None:
            notifications.began(ctxt, spec_obj)
        try:
            selections = list(map(list, serving.select_destinations(
                ctxt, spec_obj, uuids, offer=offer, record=record,
                return_alternates=as_objects and alternates)))
            reply = _reply(selections, as_objects, spec_obj.wire_version)
        except BaseException:
            # The claims that the driver has not released.
            releases.release_claims(offer.claims, offer.held())
            raise
        record.selections = selections
        record.close(decision.PLACED)
        if offer.claims is not None:
            _release_if_lost(offer)
        if notifications is not None:
            notifications.ended(ctxt, spec_obj, record.picks)
        return reply

    def update_aggregates(self, ctxt, aggregates):
        """Note that Nova's API has changed aggregates; they are reread."""
        self.driver.update_aggregates(aggregates)
        self.candidate_source.forget_aggregates()

    def delete_aggregate(self, ctxt, aggregate):
        """Note that Nova's API has deleted an aggregate; they are reread."""
        self.driver.delete_aggregate(aggregate)
        self.candidate_source.forget_aggregates()

    def update_instance_info(self, ctxt, host_name, instance_info):
        """Ignore an update of the instances on a compute service.

        A request that depends on instances reads them from the database, so
        this cast and the next two are not needed.
        """
        LOG.debug('Instances of host %s changed', host_name)

    def delete_instance_info(self, ctxt, host_name, instance_uuid):
        """Ignore that an instance has left a compute service."""
        LOG.debug('Instance %(uuid)s left host %(host)s',
                  {'uuid': instance_uuid, 'host': host_name})

    def sync_instance_info(self, ctxt, host_name, instance_uuids):
        """Ignore the list of a compute service's instances."""
        LOG.debug('Instances of host %s announced', host_name)


class BaseRPCEndpoint:
    """The RPC endpoint that every Nova service has."""

    target = messaging.Target(namespace='baseapi', version='1.1')
    CALLS = frozenset(('ping', 'get_backdoor_port'))

    def __init__(self, service_name):
        self.service_name = service_name

    def ping(self, ctxt, arg):
        """Return the argument and the name of the service."""
        return {'service': self.service_name, 'arg': arg}

    def get_backdoor_port(self, ctxt):
        """Return None: this service listens on no backdoor."""
        return None


def _read(call, record):
    """Return the RequestSpec of a call, after checking all arguments."""
    as_json = record.pack()
    if as_json is not None:
        if len(as_json) > bounds.REQUEST_BYTES:
            # Parsing it again for the record would take too long.
            record.forget_request()
        arguments.check_text(call, as_json)
    arguments.check_instance_uuids(call['instance_uuids'])
    if 'spec_obj' in call:
        return arguments.from_wire(call['spec_obj'])
    return arguments.from_legacy_dicts(
        call['request_spec'], call['filter_properties'])


def _reply(selections, as_objects, version):
    """Return lists of Selection in the form of the caller's RPC version."""
    if as_objects:
        return selection.to_wire(selections, version)
    return selection.to_dicts([chosen[0] for chosen in selections], version)


def _release_if_lost(offer):
    """Release the claims if the reply does not reach the caller."""
    claimed = offer.held()

    def release_claims():
        LOG.warning('The reply for instance(s) %s does not reach its caller; '
                    'releasing their claims', ', '.join(claimed))
        releases.release_claims(offer.claims, claimed)

    if claimed:
        call_scope.if_reply_is_lost(release_claims)


def _close(record, exc):
    """Close the record of a request that ended with an exception."""
    if isinstance(exc, _EXPECTED) and not isinstance(
            exc, exception.NoValidHost):
        LOG.error('Request not answered: %s', exc)
    elif isinstance(exc, bdb.BdbQuit) and not (
            sys.stdin and sys.stdin.isatty()):
        LOG.error('A debugger in a filter, weigher or driver has no terminal '
                  'in a worker; run "nova-sched --no-fork" in a terminal')
    record.refuse(*_code(exc))
    record.close(decision.REFUSED if isinstance(exc, _REFUSALS)
                 else decision.FAILED, record.reason or _words(exc))


def _code(exc):
    """Return code and kind of the refusal that an exception means.

    They count only if the record has no code yet.
    """
    if getattr(exc, 'is_budget_spent', False):
        return 'time_spent', None
    if isinstance(exc.__cause__, exception.RequestFilterFailed):
        return 'request_filter', codes.FILTERED_OUT
    return next((coded for kind, coded in _CODES.items()
                 if isinstance(exc, kind)), ('error', None))


def _words(exc):
    """Return the text of an exception, even if its ``__str__`` fails."""
    try:
        if isinstance(exc, exception.NoValidHost):
            return str(exc.kwargs.get('reason', '')).strip()
        return str(exc) if isinstance(exc, _EXPECTED) else repr(exc)
    except Exception:
        return type(exc).__name__
