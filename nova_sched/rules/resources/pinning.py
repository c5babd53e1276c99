"""Dedicated CPUs: how many of a guest's CPUs are pinned, and on what cores.

Rules of Nova's flavor extra specs (User guide, "CPU topologies").
"""

import typing

import os_resource_classes as classes
import os_traits
from oslo_log import log as logging

from nova_sched.objects.fields import MalformedError
from nova_sched.objects.numa import parse_cpus
from nova_sched.rules.resources.wishes import image_refused
from nova_sched.rules.resources.wishes import refused

LOG = logging.getLogger(__name__)

_POLICY = 'hw:cpu_policy', 'hw_cpu_policy'
_THREADS = 'hw:cpu_thread_policy', 'hw_cpu_thread_policy'
_MASK = 'hw:cpu_dedicated_mask'
_REALTIME = 'hw:cpu_realtime_mask', 'hw_cpu_realtime_mask'
_EMULATOR = 'hw:emulator_threads_policy'

#: Policies of the flavor, and what of the image's they do not put up with.
_POLICIES = {'dedicated': (), 'mixed': ('dedicated',),
             'shared': ('dedicated', 'mixed')}
_THREAD_POLICIES = {'prefer': (), 'isolate': ('prefer', 'require'),
                    'require': ('prefer', 'isolate')}


class Pins(typing.NamedTuple):
    """What pinning changes about a query.

    amounts: resource class -> amount in place of any other; empty if no CPU
        is pinned.  required, forbidden: traits.
    """

    amounts: dict
    required: frozenset
    forbidden: frozenset


NONE = Pins({}, frozenset(), frozenset())


def of(wishes):
    """The Pins of a flavor and an image (``Wishes``).

    Raises InvalidInput if they contradict each other, or a mask of CPUs is
    of no use.
    """
    policy = _prevailing(wishes, *_POLICY, _POLICIES)
    threads = _prevailing(wishes, *_THREADS, _THREAD_POLICIES)
    traits = frozenset((os_traits.HW_CPU_HYPERTHREADING,))
    if threads in ('isolate', 'require'):
        LOG.debug('Adding %(trait)s=%(value)s trait', {
            'trait': os_traits.HW_CPU_HYPERTHREADING,
            'value': 'required' if threads == 'require' else 'forbidden'})
    return Pins(_amounts(wishes, policy),
                traits if threads == 'require' else frozenset(),
                traits if threads == 'isolate' else frozenset())


def _prevailing(wishes, key, name, policies):
    """The flavor's policy, or the image's where the flavor has none."""
    mine, image = wishes.flavor(key, policies), wishes.image.get(name)
    if mine is None:
        return image
    if image in policies[mine]:
        raise wishes.differs(key, name)
    return mine


def _amounts(wishes, policy):
    vcpus = wishes.vcpus
    emulator = wishes.flavor(_EMULATOR, ('share', 'isolate'))
    if policy == 'dedicated':
        LOG.debug('Translating request for VCPU=%(count)d to '
                  'VCPU=0,PCPU=%(count)d', {'count': vcpus})
        amounts = {classes.PCPU: vcpus}
    elif policy == 'mixed':
        pinned = _mixed(wishes, emulator)
        amounts = {classes.VCPU: vcpus - pinned, classes.PCPU: pinned}
    else:
        return {}
    if emulator == 'isolate':
        LOG.debug('Adding additional PCPU to account for emulator threads')
        amounts[classes.PCPU] += 1
    return amounts


def _mixed(wishes, emulator):
    """How many CPUs of a guest of both kinds are pinned."""
    pinned = _realtime(wishes, emulator) if wishes.flag(
        'hw:cpu_realtime') else 0
    text = wishes.flavor(_MASK)
    if text is None:
        return pinned
    pinned = _count(wishes, text, refused, _MASK)
    if not 0 < pinned < wishes.vcpus:
        raise refused(f'must name some, but not all of the {wishes.vcpus} '
                      f'CPUs', text, _MASK)
    return pinned


def _realtime(wishes, emulator):
    """How many CPUs are realtime CPUs, all of which are pinned.

    All may be if the emulator has CPUs elsewhere.
    """
    key, name = _REALTIME
    text, refuse, where = wishes.image.get(name), image_refused, name
    if not text:
        text, refuse, where = wishes.flavor(key), refused, key
    count = (wishes.vcpus if text is None
             else _count(wishes, text, refuse, where))
    if not count or (count == wishes.vcpus and not emulator):
        raise refuse(f'must name some, but not all of the {wishes.vcpus} '
                     f'CPUs; all are right with {_EMULATOR}', text, where)
    return count


def _count(wishes, text, refuse, where):
    """The number of CPUs in a mask: '0-1', or '^2', all but that one."""
    everything = f'0-{wishes.vcpus - 1}'
    try:
        found = parse_cpus(f'{everything},{text}' if text.strip().startswith(
            '^') else text)
    except MalformedError as error:
        raise refuse(error.must, text, where) from None
    if found and max(found) >= wishes.vcpus:
        raise refuse(f'must name CPUs of {everything} alone', text, where)
    return len(found)
