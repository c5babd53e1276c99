"""Drivers that were written against Nova, of Queens to Wallaby.

Their ``select_destinations`` takes what Placement offers as three arguments,
all by position: the allocation requests by provider, the summaries of the
providers, and a microversion. Here there is one, ``offer``, and the record of
the request. ``served`` makes a class that takes the one and hands on the
others; what has been put aside on the way is there for whoever needs it in
the end (``current``).
"""

import contextvars
import dataclasses
import functools
import inspect

from nova_sched import exception
from nova_sched.hosts import offer as placement_offer

#: Of these, either tells a driver that was written so.
_TELLING = {'alloc_reqs_by_rp_uuid', 'provider_summaries'}

_NOVAS = ('(self, context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid, '
          'provider_summaries, allocation_request_version=None, '
          'return_alternates=False)')


@dataclasses.dataclass(frozen=True)
class Call:
    """What this service asks a driver for, besides Nova's arguments.

    offer: a value of hosts.offer.  record: Decision, or None.
    """

    offer: object = placement_offer.NOT_ASKED
    record: object = None


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
    Nova's drivers of the releases above.
    """
    signature = inspect.signature(cls.select_destinations)
    made_alone = getattr(cls, 'MADE_ALONE', False)
    if not made_alone and not _TELLING & signature.parameters.keys():
        return cls
    try:
        signature.bind(*range(8))
    except TypeError:
        raise exception.ConfigurationError(
            option, f'{cls.__module__}.{cls.__qualname__}',
            f'its select_destinations takes {signature}; write it as Nova '
            f'calls it from Queens to Wallaby: {_NOVAS}') from None
    bases = (_MadeAlone, _Asked, cls) if made_alone else (_Asked, cls)
    return type(cls.__name__, bases, {'__module__': cls.__module__,
                                      '__doc__': cls.__doc__})


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

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=placement_offer.NOT_ASKED, record=None):
        offered = (None, None, None)
        if offer.asked:
            offered = offer.by_provider, offer.summaries, offer.version
        token = _current.set(Call(offer, record))
        try:
            return super().select_destinations(
                context, spec_obj, instance_uuids, *offered,
                return_alternates)
        finally:
            _current.reset(token)
