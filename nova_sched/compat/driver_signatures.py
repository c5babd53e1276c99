"""Adapters for drivers written for Nova's select_destinations.

Such a driver takes the arguments of its release by position
(``DriverSignature``): a Kilo driver takes the request as two dicts, a Mitaka
driver as one object.  From Pike on a driver also takes Placement's candidates:
the allocation requests by provider, the summaries of the providers and, from
Queens on, their microversion.  This service passes ``offer`` and the record of
the request instead.  ``adapt`` returns a class that takes these and calls the
driver with its own arguments; all arguments are in a context variable
(``current``).
"""

import contextlib
import contextvars
import copy
import dataclasses
import functools
import inspect

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.compat import current_hosts
from nova_sched.compat import nova_methods
from nova_sched.compat import nova_names
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.hosts import decision
from nova_sched.objects import arguments
from nova_sched.objects import spec_dicts
from nova_sched.placement import driver_claims
from nova_sched.placement import releases
from nova_sched.rpc import call_scope
from nova_sched.scheduler.offer import NO_OFFER

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class DriverCall:
    """One call of select_destinations.

    offer: scheduler.offer.Offer.  record: Decision, or None.
    spec_obj: RequestSpec.  instance_uuids: list, or None.
    alternates: whether the caller requests alternates.
    claimed: instance uuid -> list of Selection, the first of them claimed.
    attempts: list of SchedulingAttempts; their picks are forgotten if the
        driver fails.
    notifies: whether the service sends the select_destinations notifications
        of this call.
    """

    offer: object = NO_OFFER
    record: object = None
    spec_obj: object = None
    instance_uuids: list | None = None
    alternates: bool = False
    claimed: dict = dataclasses.field(default_factory=dict)
    attempts: list = dataclasses.field(default_factory=list)
    notifies: bool = False

    @property
    def mapping(self):
        """The RequestSpec that also supports Kilo's dict access."""
        return kilo_mapping.with_mapping(self.spec_obj)

    def kilo_arguments(self):
        """Return the request as two dicts."""
        return (copy.deepcopy(self.mapping['request_spec']),
                spec_dicts.to_filter_properties_dict(self.spec_obj))

    def with_dicts(self, request_spec, filter_properties):
        """Return this call, or a copy with the request of two dicts."""
        if (request_spec, filter_properties) == self.kilo_arguments():
            return self
        spec_obj = arguments.from_legacy_dicts(
            request_spec, filter_properties)
        spec_obj.is_bfv = self.spec_obj.is_bfv
        spec_obj._context = self.spec_obj._context
        return dataclasses.replace(self, spec_obj=spec_obj)

    def arguments(self, signature):
        """Return the arguments after the context: tuple.

        signature: DriverSignature of the called method.
        """
        if signature is KILO:
            return self.kilo_arguments()
        candidates = self.offer.candidates
        offered = (candidates.by_provider, candidates.summaries,
                   candidates.version) if candidates.is_used else (None,) * 3
        # Each release has appended arguments.
        return (self.mapping, self.instance_uuids, *offered,
                self.alternates)[:len(signature.arguments)]

    def note_claims(self, selections):
        """Record lists of Selection whose first host is claimed."""
        if self.offer.candidates.is_used:
            self.claimed.update(zip(
                self.instance_uuids or (), selections, strict=False))

    def with_claims(self, selections, driver):
        """Return a driver's result with its claims: lists of Selection.

        selections: lists of Selection; one made of a dict or HostState has no
            claim.  driver: its name.
        Raises ValueError for a host that differs from the claimed host.
        """
        if not self.claimed or not self.instance_uuids:
            return selections
        return [_claimed(chosen, self.claimed.get(uuid, chosen), uuid, driver)
                for chosen, uuid in zip(selections, self.instance_uuids,
                                        strict=True)]

    def discard_stale_picks(self, selections):
        """Clear recorded picks and weights if the result has other hosts."""
        record = self.record
        if record is not None and [
                (pick.host, pick.nodename) for pick in record.picks] != [
                    *map(_place, selections)]:
            record.picks.clear()
            record.weighing.kept.clear()
            record.alternates = 0


def _place(chosen):
    return chosen[0].service_host, chosen[0].nodename


def _claimed(chosen, claimed, uuid, driver):
    """Return the result for an instance with a claim: list of Selection."""
    if _place(chosen) != _place(claimed):
        raise ValueError(
            'driver {} returned host {!r}, node {!r} for instance {}, for '
            'which it has claimed host {!r}, node {!r} in Placement; exclude '
            'hosts before calling the base class, or set '
            'USES_ALLOCATION_CANDIDATES = False in the class to decide '
            'without Placement'.format(
                driver, *_place(chosen), uuid, *_place(claimed)))
    if chosen[0].allocation_request_version is not None:
        return chosen
    claimed[0].limits = chosen[0].limits
    return claimed


@dataclasses.dataclass(frozen=True)
class DriverSignature:
    """The arguments of a method in certain releases of Nova.

    releases: names of the releases, for messages.
    arguments: names of the arguments after the context.
    """

    releases: str
    arguments: tuple

    def fits(self, signature):
        """Return whether a method of a signature takes these arguments."""
        try:
            signature.bind('self', 'context', *self.arguments)
        except TypeError:
            return False
        return True

    def __str__(self):
        names = ', '.join(('self', 'context', *self.arguments))
        return f'({names}) (Nova {self.releases})'


#: Arguments that only a driver of Pike or later has.
_OFFERED = ('alloc_reqs_by_rp_uuid', 'provider_summaries')

KILO = DriverSignature(
    'Juno to Liberty', ('request_spec', 'filter_properties'))
MITAKA = DriverSignature('Mitaka to Ocata', ('spec_obj',))
PIKE = DriverSignature('Pike', ('spec_obj', 'instance_uuids', *_OFFERED))
QUEENS = DriverSignature('Queens to Wallaby', (
    *PIKE.arguments, 'allocation_request_version', 'return_alternates'))


def parse_call(declared, *args, **kwargs):
    """Parse the arguments that a driver passes to its base class.

    declared: DriverSignature of the driver's method; it tells a Pike call
        from a later call that omits its last two arguments.
    args, kwargs: of the call, without the context.
    Returns (DriverCall, DriverSignature).
    Raises RuntimeError in a thread that serves no call.
    """
    call = current()
    if call is NO_CALL:
        raise RuntimeError(
            'select_destinations was called in another thread than the '
            'one that serves the request; call it there by '
            'contextvars.copy_context().run')
    if 'filter_properties' in kwargs or (args and isinstance(args[0], dict)):
        return call.with_dicts(*args, **kwargs), KILO
    given = dict(zip(QUEENS.arguments, args, strict=False)) | kwargs
    if len(given) == 1:
        return dataclasses.replace(call, **given), MITAKA
    is_pike = declared is PIKE and len(given) == len(PIKE.arguments)
    offered = call.offer
    if (given['alloc_reqs_by_rp_uuid'] is None
            or given['provider_summaries'] is None):
        offered = NO_OFFER
    elif offered.candidates.is_used:
        offered = dataclasses.replace(offered, candidates=dataclasses.replace(
            offered.candidates, by_provider=given['alloc_reqs_by_rp_uuid'],
            providers=frozenset(given['provider_summaries']),
            summaries=given['provider_summaries'],
            version=given.get('allocation_request_version')
            or offered.candidates.version))
    return dataclasses.replace(
        call, offer=offered, spec_obj=given['spec_obj'],
        instance_uuids=given['instance_uuids'],
        alternates=given.get('return_alternates',
                             is_pike and call.alternates),
    ), PIKE if is_pike else QUEENS


@functools.cache
def signature_of(method):
    """Return the DriverSignature of a function of a class, or None."""
    signature = inspect.signature(method)
    if 'filter_properties' in signature.parameters:
        return KILO if KILO.fits(signature) else None
    # This service's own signature has as many arguments as Kilo's.
    if 'return_alternates' in signature.parameters:
        return QUEENS if QUEENS.fits(signature) else None
    return next((form for form in (QUEENS, PIKE, MITAKA, KILO)
                 if form.fits(signature)), None)


#: Optional arguments of a driver with this service's own signature.
_EXTRAS = ('offer', 'record')

#: Methods to adapt if the class sets no NOVA_SIGNATURES.
_DEFAULT_METHODS = ('select_destinations',)

#: The call of a thread that serves none.
NO_CALL = DriverCall()
_current = contextvars.ContextVar('call', default=NO_CALL)


def current():
    """Return the DriverCall that this thread serves."""
    return _current.get()


@functools.cache
def adapt(cls, option):
    """Return the class to use in place of a driver class, often the same.

    option: ``[group] name`` for messages.
    Raises ConfigurationError for a signature that is neither this service's
    nor Nova's.
    """
    if issubclass(cls, (_NovaSignature, _OwnSignature)):
        return cls
    note_periodic_work(cls)
    signature = inspect.signature(cls.select_destinations)
    takes_no_conf = getattr(cls, 'NO_ARG_CONSTRUCTOR', False)
    if not takes_no_conf and signature.parameters.keys().isdisjoint(_OFFERED):
        return _own_signature(cls, signature, option)
    forms = {name: signature_of(getattr(cls, name))
             for name in getattr(cls, 'NOVA_SIGNATURES', _DEFAULT_METHODS)}
    for name, form in forms.items():
        if form is None or (form is not QUEENS and not takes_no_conf):
            raise _refused(cls, name, option)
    form = forms['select_destinations']
    members = {}
    if form is not QUEENS:
        members['SIGNATURE'] = form
    if form in (KILO, MITAKA) and not cls.CLAIMS:
        members['USES_ALLOCATION_CANDIDATES'] = False
    return accept_conf(with_adapter(_NovaSignature, cls, **members))


def accept_conf(cls):
    """Return the class, or a subclass that is constructed with a conf."""
    if not getattr(cls, 'NO_ARG_CONSTRUCTOR', False):
        return cls
    return with_adapter(_NoArgConstructor, cls)


def with_adapter(adapter, cls, **members):
    """Return a subclass with the same name and an adapter first in its MRO.

    members: attributes of the new class.
    """
    return type(cls.__name__, (adapter, cls), {
        '__module__': cls.__module__, '__doc__': cls.__doc__, **members})


def _own_signature(cls, signature, option):
    """Return a driver that also takes ``offer`` and ``record``: class.

    cls: a class with this service's signature; a plug-in's gets an adapter.
    signature: of its select_destinations.
    """
    parameters = signature.parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD
                    for parameter in parameters.values())
    taken = [name for name in _EXTRAS if takes_all or name in parameters]
    try:
        signature.bind(*range(4), return_alternates=True,
                       **dict.fromkeys(taken))
    except TypeError:
        raise _refused(cls, 'select_destinations', option) from None
    if nova_methods.is_ours(cls):
        return cls
    members = {} if 'offer' in taken else {'USES_ALLOCATION_CANDIDATES': False}
    return with_adapter(_OwnSignature, cls, TAKEN=taken, **members)


def _refused(cls, name, option):
    takes_no_conf = getattr(cls, 'NO_ARG_CONSTRUCTOR', False)
    forms = (KILO, MITAKA, PIKE, QUEENS) if takes_no_conf else (QUEENS,)
    return exception.ConfigurationError(
        option, f'{cls.__module__}.{cls.__qualname__}',
        f'its {name} takes {inspect.signature(getattr(cls, name))}; '
        f'supported signatures: {"; ".join(map(str, forms))}' + (
            '' if takes_no_conf else '; derive from nova.scheduler.driver.'
            'Scheduler to use the signature of an older release'))


def note_periodic_work(cls):
    """Set PERIODIC = True on a driver class that defines run_periodic_tasks.

    Nova has a timer for each driver.  A PERIODIC that the class sets is kept.
    """
    for base in cls.__mro__:
        if 'PERIODIC' in vars(base):
            return
        if 'run_periodic_tasks' in vars(base):
            cls.PERIODIC = True
            return


class _OwnSignature:
    """An adapter for drivers that take no offer or no record.

    TAKEN: names of the optional arguments that the driver takes.
    """

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=NO_OFFER, record=None):
        extras = {'offer': offer, 'record': record}
        with _undone_on_failure(self):
            selections = [*map(list, super().select_destinations(
                context, spec_obj, instance_uuids,
                return_alternates=return_alternates,
                **{name: extras[name] for name in self.TAKEN}))]
            note_picks(record, selections)
        return selections


def note_picks(record, selections):
    """Add the selected hosts to a record that has no picks yet.

    record: Decision, or None.  selections: lists of Selection.
    """
    if record is None or record.picks:
        return
    uuids = record.instance_uuids()
    for index, (chosen, *others) in enumerate(selections):
        record.picked(decision.Pick(
            index, uuids[index] if index < len(uuids) else None,
            chosen.service_host, chosen.nodename))
        record.alternates += len(others)


class _NoArgConstructor:
    """An adapter for drivers whose constructor takes no arguments."""

    def __init__(self, conf):
        super().__init__()


class _NovaSignature:
    """An adapter for drivers that take Nova's arguments."""

    WANTS_SUMMARIES = True
    SIGNATURE = QUEENS

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=NO_OFFER, record=None):
        call = DriverCall(offer, record, spec_obj, instance_uuids,
                          return_alternates, notifies=self.NOTIFIES)
        is_of_nova = getattr(self, 'NO_ARG_CONSTRUCTOR', False)
        # Such a driver may look up hosts before it gets any.
        lookup = (current_hosts.made_by(self.host_manager._hosts)
                  if is_of_nova else contextlib.nullcontext())
        with _undone_on_failure(self, call):
            with answering(call), lookup:
                selections = super().select_destinations(
                    context, *call.arguments(self.SIGNATURE))
                if is_of_nova:
                    selections = call.with_claims(self.as_selections(
                        context, selections), type(self).__name__)
                    call.discard_stale_picks(selections)
            selections = [*map(list, selections)]
            note_picks(record, selections)
        return selections


@contextlib.contextmanager
def _undone_on_failure(driver, call=NO_CALL):
    """Undo a driver's picks and claims if it fails: a context.

    Claims that it made by methods of Nova's report client are also released
    if the reply does not reach the caller.
    """
    with driver_claims.noted() as claims:
        try:
            yield
        except BaseException as error:
            nova_names.explain(error)
            for attempt in call.attempts:
                driver.host_manager.state.forget(attempt.placed)
            releases.release_claims(claims, [
                uuid for uuid in claims.held()
                if not releases.is_under_way(uuid)])
            raise
    claimed = claims.held()

    def release():
        LOG.warning('Could not deliver the reply of driver %(driver)s for '
                    'instance(s) %(uuids)s; releasing the claims that the '
                    'driver made', {
                        'driver': type(driver).__name__,
                        'uuids': ', '.join(claimed)})
        releases.release_claims(claims, claimed)

    if claimed:
        call_scope.if_reply_is_lost(release)


@contextlib.contextmanager
def answering(call):
    """Set the DriverCall that this thread serves: a context."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)
        if current() is NO_CALL:
            current_hosts.clear()
