"""The door: what callers may ask of the scheduler over RPC.

Wire forms in, wire forms out; every historical form of a request becomes one
``RequestSpec`` here, and the answer takes the form its caller speaks.
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

#: What a request may well end in: told to the caller, and to the log in a
#: line without a traceback.
_EXPECTED = (exception.NoValidHost, exception.InvalidInput,
             exception.DatabaseUnavailable, exception.PlacementUnavailable,
             exception.AllocationUpdateFailed, IncompatibleObjectVersion)
#: Of these, what is an answer: no.
_REFUSALS = (exception.NoValidHost, exception.InvalidInput,
             IncompatibleObjectVersion)
#: What is told in words that ``[nova_sched] no_valid_host_text`` chooses.
_TOLD = (exception.NoValidHost, exception.InvalidInput,
         exception.ComputeHostMetricNotFound, exception.DatabaseUnavailable,
         exception.PlacementUnavailable)


#: By which code, and with which kind, what is raised is refused.
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


class _Nobody:
    """Who is told of requests where there are no notifications."""

    def began(self, context, spec_obj):
        """Return hosts are about to be chosen for a request."""

    def ended(self, context, spec_obj, picks):
        """Return hosts were chosen: a decision.Pick each instance."""


_NOBODY = _Nobody()


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one request may take.

    instances: how many it may ask for.  seconds: of a processor's time; 0
    for any number.
    """

    instances: int = bounds.INSTANCES
    seconds: float = 0

    @classmethod
    def of(cls, conf):
        """As the options in ``[nova_sched]`` say."""
        return cls(conf.nova_sched.max_instances_per_request,
                   conf.nova_sched.request_time_budget)

    def check(self, record, spec_obj):
        """Raise InvalidInput for a Decision about too much.

        spec_obj: RequestSpec that it is about.
        """
        fields.check_size(
            'the request', record.instances, self.instances, 'instances',
            'by [nova_sched] max_instances_per_request')
        for field, names in _lists_of_names(spec_obj):
            fields.check_size(f'{field} times instances',
                              len(names or ()) * record.instances,
                              bounds.NAMED_WORK)
        budget.check('arguments')


def _lists_of_names(spec_obj):
    """Yield what each instance of a request looks through: (field, list)."""
    for name in ('ignore_hosts', 'force_hosts', 'force_nodes'):
        yield name, getattr(spec_obj, name)
    group = spec_obj.instance_group
    if group is not None:
        yield 'instance_group.members', group.members
        yield 'instance_group.hosts', group.hosts


class SchedulerManager:
    """RPC endpoint of the scheduler: version 4.5 of Nova's interface.

    driver: a scheduler.driver.Scheduler that has been started.
    offers: scheduler.candidates.CandidateSource for that driver.
    recorder: takes the record of each request, as observe.recorder.Recorder.
    notifications: is told of each request that a notifying driver decides, as
        observe.notifications.Notifications; None for nobody.
    text: what callers are told of a request without a host, a choice of
        ``[nova_sched] no_valid_host_text``; records have all of it.
    limits: Limits of what one request may take.
    """

    target = messaging.Target(version='4.5')
    #: What callers may call.
    CALLS = frozenset((
        'select_destinations', 'update_aggregates', 'delete_aggregate',
        'update_instance_info', 'delete_instance_info',
        'sync_instance_info'))

    def __init__(self, driver, offers, recorder, notifications=None,
                 text='filters', limits=None):
        self.serve(driver, offers, text, limits or Limits())
        self.recorder = recorder
        self._notifications = notifications or _NOBODY

    @property
    def driver(self):
        """The driver that decides."""
        return self._serving[0]

    @property
    def offers(self):
        """The CandidateSource of what it decides on."""
        return self._serving[1]

    def serve(self, driver, offers, text, limits):
        """Have another driver decide from the next request on."""
        self._serving, self._text = (driver, offers), text
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
            weighing=decision.Weighing(self.recorder.keeps_all_weights))
        record.arrived -= (waited := turns.waited())
        record.spent('wait', waited)
        LOG.debug('Starting to schedule for instances: %s', instance_uuids)
        try:
            with budget.charged(budget.Budget(self._limits.seconds)):
                return self._answer(ctxt, call, record)
        except _TOLD as exc:
            _close(record, exc)
            # Anew, for its cause and its notes would travel in the traceback.
            raise exc.for_caller(self._text) from None
        except BaseException as exc:
            _close(record, exc)
            raise
        finally:
            call_scope.after_reply(functools.partial(self._keep, record))

    def _keep(self, record):
        """Hand a closed record on, whatever becomes of it there."""
        try:
            self.recorder.add(record)
        except Exception:
            # The answer must not suffer from the words about it.
            LOG.exception('The record of request %s is lost',
                          record.request_id)

    def _answer(self, ctxt, call, record):
        """Return the reply to one call, whose record is closed if there is
        one.
        """
        spec_obj, uuids = _read(call, record), call['instance_uuids']
        as_objects, alternates = (
            arguments.flag(name, call[name])
            for name in ('return_objects', 'return_alternates'))
        spec_obj._context = ctxt
        record.instance_uuid = spec_obj.instance_uuid
        record.instances = driver.Scheduler.count(spec_obj, uuids)
        self._limits.check(record, spec_obj)
        serving, offers = self._serving
        spec_obj, offer = offers.fetch(ctxt, spec_obj, record)
        if offer.candidates.asked:
            record.spec_obj = spec_obj
            arguments.check_distinct(uuids)
        told = self._notifications if serving.NOTIFIES else _NOBODY
        told.began(ctxt, spec_obj)
        try:
            selections = list(map(list, serving.select_destinations(
                ctxt, spec_obj, uuids, offer=offer, record=record,
                return_alternates=as_objects and alternates)))
            reply = _reply(selections, as_objects, spec_obj.wire_version)
        except BaseException:
            # What the driver has not given back itself.
            releases.give_back(offer.claims, offer.held())
            raise
        record.selections = selections
        record.close(decision.PLACED)
        if offer.claims is not None:
            _give_back_if_lost(offer)
        told.ended(ctxt, spec_obj, record.picks)
        return reply

    def update_aggregates(self, ctxt, aggregates):
        """Have the aggregates read again that Nova's API has changed."""
        self.driver.update_aggregates(aggregates)
        self.offers.forget_aggregates()

    def delete_aggregate(self, ctxt, aggregate):
        """Have the aggregates read again: Nova's API has deleted one."""
        self.driver.delete_aggregate(aggregate)
        self.offers.forget_aggregates()

    def update_instance_info(self, ctxt, host_name, instance_info):
        """Take note of which instances a compute service runs.

        Where instances run is read from the database when a request asks, so
        this and its two siblings carry no news.
        """
        LOG.debug('Instances of host %s changed', host_name)

    def delete_instance_info(self, ctxt, host_name, instance_uuid):
        """Take note that an instance has left a compute service."""
        LOG.debug('Instance %(uuid)s left host %(host)s',
                  {'uuid': instance_uuid, 'host': host_name})

    def sync_instance_info(self, ctxt, host_name, instance_uuids):
        """Take note of the uuids of a compute service's instances."""
        LOG.debug('Instances of host %s announced', host_name)


class BaseRPCEndpoint:
    """What every service of Nova answers: is it there."""

    target = messaging.Target(namespace='baseapi', version='1.1')
    CALLS = frozenset(('ping', 'get_backdoor_port'))

    def __init__(self, service_name):
        self.service_name = service_name

    def ping(self, ctxt, arg):
        """Return the argument, and which service answers."""
        return {'service': self.service_name, 'arg': arg}

    def get_backdoor_port(self, ctxt):
        """Return None: this service listens on no backdoor."""
        return None


def _read(call, record):
    """Return the RequestSpec of a call, all of whose arguments are right."""
    as_json = record.pack()
    if as_json is not None:
        if len(as_json) > bounds.REQUEST_BYTES:
            # Not to be read again for what is kept of it.
            record.forget_request()
        arguments.check_text(call, as_json)
    arguments.check_instance_uuids(call['instance_uuids'])
    if 'spec_obj' in call:
        return arguments.from_wire(call['spec_obj'])
    return arguments.from_legacy_dicts(
        call['request_spec'], call['filter_properties'])


def _reply(selections, as_objects, version):
    """Return lists of Selection in the form that a caller speaks."""
    if as_objects:
        return selection.to_wire(selections, version)
    return selection.to_dicts([chosen[0] for chosen in selections], version)


def _give_back_if_lost(offer):
    """Have claims given back if the caller does not get the answer."""
    claimed = offer.held()

    def give_back():
        LOG.warning('The answer about instance(s) %s does not reach its '
                    'caller; what was claimed for them is given back',
                    ', '.join(claimed))
        releases.give_back(offer.claims, claimed)

    if claimed:
        call_scope.if_reply_is_lost(give_back)


def _close(record, exc):
    """Close the record of a request that ended with an exception."""
    if isinstance(exc, _EXPECTED) and not isinstance(
            exc, exception.NoValidHost):
        LOG.error('Request not answered: %s', exc)
    elif isinstance(exc, bdb.BdbQuit) and not (
            sys.stdin and sys.stdin.isatty()):
        LOG.error('A debugger in a filter, weigher or driver has no terminal '
                  'in a worker; run "nova-sched --no-fork" in one')
    record.refuse(*_code(exc))
    record.close(decision.REFUSED if isinstance(exc, _REFUSALS)
                 else decision.FAILED, record.reason or _words(exc))


def _code(exc):
    """Return the code and the kind of a request that ends with an exception
    which nobody has said more of.
    """
    if getattr(exc, 'is_budget_spent', False):
        return 'time_spent', None
    if isinstance(exc.__cause__, exception.RequestFilterFailed):
        return 'request_filter', codes.FILTERED_OUT
    return next((coded for kind, coded in _CODES.items()
                 if isinstance(exc, kind)), ('error', None))


def _words(exc):
    """Return what an exception says, of whatever class and with whatever in
    it.
    """
    try:
        if isinstance(exc, exception.NoValidHost):
            return str(exc.kwargs.get('reason', '')).strip()
        return str(exc) if isinstance(exc, _EXPECTED) else repr(exc)
    except Exception:
        return type(exc).__name__
