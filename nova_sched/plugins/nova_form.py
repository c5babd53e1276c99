"""Drivers that were written against Nova, of any release to Wallaby.

Their ``select_destinations`` takes what its release knew, all by position
(``Form``): Kilo's the request as two dicts, Mitaka's as one object, and from
Pike on what Placement offers as well, as three arguments: the allocation
requests by provider, the summaries of the providers, and a microversion.  Here
there is one, ``offer``, and the record of the request.  ``served`` makes a
class that takes the one and hands on the others; what has been put aside on
the way is there for whoever needs it in the end (``current``).
"""

import contextlib
import contextvars
import copy
import dataclasses
import functools
import inspect

from nova_sched import exception
from nova_sched.hosts import offer as placement_offer
from nova_sched.objects import arguments
from nova_sched.objects.legacy import dicts

#: Of these, either tells a driver that was written so.
_TELLING = {'alloc_reqs_by_rp_uuid', 'provider_summaries'}

_NOVAS = ('(self, context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid, '
          'provider_summaries, allocation_request_version=None, '
          'return_alternates=False)')


@dataclasses.dataclass(frozen=True)
class Call:
    """What this service asks a driver for.

    offer: a value of hosts.offer.  record: Decision, or None.
    spec_obj: RequestSpec.  instance_uuids: list, or None.
    alternates: whether these are wanted.
    """

    offer: object = placement_offer.NOT_ASKED
    record: object = None
    spec_obj: object = None
    instance_uuids: list | None = None
    alternates: bool = False

    def of_kilo(self):
        """The request as two dicts."""
        return (copy.deepcopy(self.spec_obj['request_spec']),
                dicts.to_filter_properties_dict(self.spec_obj))

    def by_dicts(self, request_spec, filter_properties):
        """The same Call about a request as these two dicts say."""
        if (request_spec, filter_properties) == self.of_kilo():
            return self
        spec_obj = arguments.from_legacy_dicts(
            request_spec, filter_properties)
        spec_obj.is_bfv = self.spec_obj.is_bfv
        spec_obj.legacy_context = self.spec_obj.legacy_context
        return dataclasses.replace(self, spec_obj=spec_obj)

    def of_mitaka(self):
        """The request as an object."""
        return (self.spec_obj,)

    def of_pike(self):
        """The request, and what Placement offers for it."""
        return (self.spec_obj, self.instance_uuids, *self._offered()[:2])

    def of_queens(self):
        """The same, with how it was worded and what else is wanted."""
        return (self.spec_obj, self.instance_uuids, *self._offered(),
                self.alternates)

    def _offered(self):
        if not self.offer.asked:
            return None, None, None
        return self.offer.by_provider, self.offer.summaries, self.offer.version


@dataclasses.dataclass(frozen=True)
class Form:
    """How a method is asked that is of certain releases.

    releases: in words.  count: of its arguments, besides self.
    given: function of a Call that returns all of them but the context.
    """

    releases: str
    count: int
    given: object

    def fits(self, signature):
        """Whether a method of this signature can be asked so."""
        try:
            signature.bind(*range(self.count + 1))
        except TypeError:
            return False
        return True


KILO = Form('Juno to Liberty', 3, Call.of_kilo)
MITAKA = Form('Mitaka to Ocata', 2, Call.of_mitaka)
PIKE = Form('Pike', 5, Call.of_pike)
QUEENS = Form('Queens to Wallaby', 7, Call.of_queens)


#: What an argument of Nova's is called, after the context.
_ARGUMENTS = ('spec_obj', 'instance_uuids', 'alloc_reqs_by_rp_uuid',
              'provider_summaries', 'allocation_request_version',
              'return_alternates')


def understood(usual, *args, **kwargs):
    """What is asked for by a driver that hands on: (Call, Form).

    usual: Form of the driver's method, which tells Pike's arguments from
    those of later releases without the last two.
    args, kwargs: of the method, but the context.
    Raises RuntimeError in a thread that answers nothing.
    """
    call = current()
    if call is NOBODY:
        raise RuntimeError(
            'select_destinations was called in another thread than the '
            'one that was asked; call it there by '
            'contextvars.copy_context().run')
    if 'filter_properties' in kwargs or (args and isinstance(args[0], dict)):
        return call.by_dicts(*args, **kwargs), KILO
    given = dict(zip(_ARGUMENTS, args, strict=False)) | kwargs
    if len(given) == 1:
        return dataclasses.replace(call, **given), MITAKA
    is_pike = usual is PIKE and len(given) == PIKE.count - 1
    offered = call.offer
    if (given['alloc_reqs_by_rp_uuid'] is None
            or given['provider_summaries'] is None):
        offered = placement_offer.NOT_ASKED
    elif offered.asked:
        offered = dataclasses.replace(
            offered, by_provider=given['alloc_reqs_by_rp_uuid'],
            providers=frozenset(given['provider_summaries']),
            summaries=given['provider_summaries'],
            version=given.get('allocation_request_version')
            or offered.version)
    return dataclasses.replace(
        call, offer=offered, spec_obj=given['spec_obj'],
        instance_uuids=given['instance_uuids'],
        alternates=given.get('return_alternates',
                             is_pike and call.alternates),
    ), PIKE if is_pike else QUEENS


@functools.cache
def form_of(method):
    """The Form that a function of a class is asked in; None for none."""
    signature = inspect.signature(method)
    if 'filter_properties' in signature.parameters:
        return KILO if KILO.fits(signature) else None
    # Of this service's own form, which has as many arguments as Kilo's.
    if 'return_alternates' in signature.parameters:
        return QUEENS if QUEENS.fits(signature) else None
    return next((form for form in (QUEENS, PIKE, MITAKA, KILO)
                 if form.fits(signature)), None)


#: What no thread has been asked for.
NOBODY = Call()
_current = contextvars.ContextVar('call', default=NOBODY)


def current():
    """The Call that this thread is answering."""
    return _current.get()


@functools.cache
def served(cls, option):
    """The class that serves in place of a driver class, often the same.

    option: ``[group] name`` for messages.
    Raises ConfigurationError for a driver that takes other arguments than
    this service's, or Nova's.
    """
    note_periodic_work(cls)
    signature = inspect.signature(cls.select_destinations)
    made_alone = getattr(cls, 'MADE_ALONE', False)
    if not made_alone and not _TELLING & signature.parameters.keys():
        _check_ours(cls, signature, option)
        return cls
    form = form_of(cls.select_destinations)
    if form is None or (form is not QUEENS and not made_alone):
        raise _refused(cls, signature, option)
    asked = {'__module__': cls.__module__, '__doc__': cls.__doc__}
    if form is not QUEENS:
        asked['NOVA_FORM'] = form
    if form in (KILO, MITAKA) and not cls.CLAIMS:
        asked['USES_ALLOCATION_CANDIDATES'] = False
    bases = (_MadeAlone, _Asked, cls) if made_alone else (_Asked, cls)
    return type(cls.__name__, bases, asked)


def made_alone(cls):
    """A class to be made with the configuration, of one that is not."""
    if not getattr(cls, 'MADE_ALONE', False):
        return cls
    return type(cls.__name__, (_MadeAlone, cls), {
        '__module__': cls.__module__, '__doc__': cls.__doc__})


def _check_ours(cls, signature, option):
    try:
        signature.bind(*range(4), return_alternates=True, **{
            name: None for name in ('offer', 'record')
            if name in signature.parameters})
    except TypeError:
        raise _refused(cls, signature, option) from None


def _refused(cls, signature, option):
    return exception.ConfigurationError(
        option, f'{cls.__module__}.{cls.__qualname__}',
        f'its select_destinations takes {signature}; write it as Nova calls '
        f'it from Queens to Wallaby: {_NOVAS}, or derive from '
        'nova.scheduler.driver.Scheduler for that of an older release')


def note_periodic_work(cls):
    """Have a driver's periodic work done: Nova has a timer for each driver."""
    for base in cls.__mro__:
        if 'run_periodic_tasks' in vars(base):
            if not base.__module__.startswith('nova_sched.scheduler.'):
                cls.PERIODIC = True
            return


class _MadeAlone:
    """In front of a driver whose class is made without arguments."""

    def __init__(self, conf):
        self.conf = conf
        super().__init__()


class _Asked:
    """In front of a driver that takes Nova's arguments."""

    WANTS_SUMMARIES = True
    NOVA_FORM = QUEENS

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=placement_offer.NOT_ASKED, record=None):
        call = Call(offer, record, spec_obj, instance_uuids,
                    return_alternates)
        with answering(call):
            found = super().select_destinations(
                context, *self.NOVA_FORM.given(call))
            return (found if self.NOVA_FORM is QUEENS
                    else self.as_selections(context, found))


@contextlib.contextmanager
def answering(call):
    """Have a Call be the one that this thread is answering."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)
