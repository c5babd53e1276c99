"""Dedicated CPUs: how many of a guest's CPUs are pinned, and on what cores.

Rules of Nova's flavor extra specs (User guide, "CPU topologies").
"""

import typing

import os_resource_classes as classes
import os_traits
from oslo_log import log as logging

from nova_sched.objects.fields import MalformedError
from nova_sched.objects.numa import parse_cpus
from nova_sched.rules.resources.flavor_image import invalid_extra_spec
from nova_sched.rules.resources.flavor_image import invalid_image_property

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


def of(requirements):
    """Return the Pins of a flavor and an image.

    requirements: FlavorImageRequirements.
    Raises InvalidInput if they contradict each other, or a mask of CPUs is
    of no use.
    """
    policy = _prevailing(requirements, *_POLICY, _POLICIES)
    threads = _prevailing(requirements, *_THREADS, _THREAD_POLICIES)
    traits = frozenset((os_traits.HW_CPU_HYPERTHREADING,))
    if threads in ('isolate', 'require'):
        LOG.debug('Adding %(trait)s=%(value)s trait', {
            'trait': os_traits.HW_CPU_HYPERTHREADING,
            'value': 'required' if threads == 'require' else 'forbidden'})
    return Pins(_amounts(requirements, policy),
                traits if threads == 'require' else frozenset(),
                traits if threads == 'isolate' else frozenset())


def _prevailing(requirements, key, name, policies):
    """Return the flavor's policy, or the image's where the flavor has none."""
    mine = requirements.flavor(key, policies)
    image = requirements.image.get(name)
    if mine is None:
        return image
    if image in policies[mine]:
        raise requirements.differs(key, name)
    return mine


def _amounts(requirements, policy):
    vcpus = requirements.vcpus
    emulator = requirements.flavor(_EMULATOR, ('share', 'isolate'))
    if policy == 'dedicated':
        LOG.debug('Translating request for VCPU=%(count)d to '
                  'VCPU=0,PCPU=%(count)d', {'count': vcpus})
        amounts = {classes.PCPU: vcpus}
    elif policy == 'mixed':
        pinned = _mixed(requirements, emulator)
        amounts = {classes.VCPU: vcpus - pinned, classes.PCPU: pinned}
    else:
        return {}
    if emulator == 'isolate':
        LOG.debug('Adding additional PCPU to account for emulator threads')
        amounts[classes.PCPU] += 1
    return amounts


def _mixed(requirements, emulator):
    """Return how many CPUs of a guest of both kinds are pinned."""
    pinned = _realtime(requirements, emulator) if requirements.flag(
        'hw:cpu_realtime') else 0
    text = requirements.flavor(_MASK)
    if text is None:
        return pinned
    pinned = _count(requirements, text, invalid_extra_spec, _MASK)
    if not 0 < pinned < requirements.vcpus:
        raise invalid_extra_spec(
            f'must name some, but not all of the {requirements.vcpus} CPUs',
            text, _MASK)
    return pinned


def _realtime(requirements, emulator):
    """Return how many CPUs are realtime CPUs, all of which are pinned.

    All CPUs may be if the emulator has CPUs elsewhere.
    """
    key, name = _REALTIME
    text, invalid, where = (
        requirements.image.get(name), invalid_image_property, name)
    if not text:
        text, invalid, where = (
            requirements.flavor(key), invalid_extra_spec, key)
    count = (requirements.vcpus if text is None
             else _count(requirements, text, invalid, where))
    if not count or (count == requirements.vcpus and not emulator):
        raise invalid(
            f'must name some, but not all of the {requirements.vcpus} CPUs; '
            f'all are right with {_EMULATOR}', text, where)
    return count


def _count(requirements, text, invalid, where):
    """Return the number of CPUs in a mask: '0-1', or '^2', all but one."""
    everything = f'0-{requirements.vcpus - 1}'
    try:
        found = parse_cpus(f'{everything},{text}' if text.strip().startswith(
            '^') else text)
    except MalformedError as error:
        raise invalid(error.must, text, where) from None
    if found and max(found) >= requirements.vcpus:
        raise invalid(f'must name CPUs of {everything} alone', text, where)
    return len(found)
