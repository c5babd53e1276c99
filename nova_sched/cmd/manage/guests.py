"""NUMA cells of a guest, as Nova's API derives them from flavor and image.

The rules are from Nova's user guides "CPU topologies" and "Huge pages".
"""

import itertools
import re

from oslo_utils import strutils

from nova_sched import objects
from nova_sched.objects import bounds
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.numa import parse_cpus
from nova_sched.rules import flavor_image
from nova_sched.rules.flavor_image import invalid_extra_spec
from nova_sched.rules.flavor_image import invalid_image_property

#: A flavor or image that sets one of them must set both.
_BOTH = ('numa_cpus', 'numa_mem')
_PAGE_SIZES = {'small': -1, 'large': -2, 'any': -3}


def numa_topology(spec_obj):
    """Return the InstanceNUMATopology of a request; None without NUMA cells.

    spec_obj: RequestSpec with a flavor, and perhaps an image.
    Raises InvalidInput for requests that Nova's API refuses.
    """
    needs = flavor_image.FlavorImageRequirements(spec_obj)
    policy, threads = flavor_image.policies(needs)
    emulator = needs.flavor('hw:emulator_threads_policy',
                            ('share', 'isolate'))
    pinned = _pinned(needs, policy)
    for key, value in (('hw:cpu_thread_policy', threads),
                       ('hw:emulator_threads_policy',
                        emulator == 'isolate' and emulator)):
        if value and not pinned:
            raise invalid_extra_spec('needs dedicated CPUs', value, key)
    size = _page_size(needs)
    if needs.agreed('hw:locked_memory', is_flag=True) and size is None:
        raise invalid_extra_spec(
            'needs hw:mem_page_size', needs.flavor('hw:locked_memory'),
            'hw:locked_memory')
    count = _either(_number(needs, 'hw:numa_nodes'), needs, 'hw_numa_nodes')
    if (count is None and not pinned and not size
            and not needs.flavor('hw:pmem')):
        return None
    cells = _cells(needs, count or 1, spec_obj.flavor.memory_mb)
    return objects.InstanceNUMATopology(
        emulator_threads_policy=emulator,
        cells=[objects.InstanceNUMACell(
            id=number, cpuset=cpus - pinned, pcpuset=cpus & pinned,
            memory=memory, pagesize=size, cpu_policy=policy,
            cpu_thread_policy=threads if pinned else None)
            for number, (cpus, memory) in enumerate(cells)])


def _pinned(needs, policy):
    """Return the guest's pinned CPUs: set of numbers."""
    mask, is_realtime = (needs.flavor('hw:cpu_dedicated_mask'),
                         needs.flag('hw:cpu_realtime'))
    if mask is not None and policy != 'mixed':
        raise invalid_extra_spec('needs hw:cpu_policy = mixed', mask,
                                 'hw:cpu_dedicated_mask')
    if is_realtime and policy not in ('dedicated', 'mixed'):
        raise invalid_extra_spec(
            'needs hw:cpu_policy = dedicated or mixed',
            needs.flavor('hw:cpu_realtime'), 'hw:cpu_realtime')
    if policy == 'mixed' and (mask is None) != bool(is_realtime):
        raise invalid_extra_spec(
            'needs either hw:cpu_dedicated_mask or hw:cpu_realtime with '
            'hw:cpu_realtime_mask', policy, 'hw:cpu_policy')
    if policy not in ('dedicated', 'mixed'):
        return set()
    every = _every(needs)
    if is_realtime:
        flavor_image.realtime_cpus(needs)
    return set(flavor_image.mixed_cpus(needs) if policy == 'mixed' else every)


def _every(needs):
    """Return the numbers of all of the guest's CPUs: range."""
    most = bounds.CPU_NUMBER + 1
    if needs.vcpus > most:
        raise MalformedError(
            needs.vcpus, f'must be at most {most} for a guest whose CPUs are '
            'numbered', 'flavor', 'vcpus').as_invalid_input()
    return range(needs.vcpus)


def _cells(needs, count, memory_mb):
    """Return the CPUs and the memory of each cell: list of (set of CPUs, MiB).

    Together they have each CPU once, and all memory.
    """
    every = list(_every(needs))
    if count > bounds.NUMA_CELLS:
        raise invalid_extra_spec(
            f'must be at most {bounds.NUMA_CELLS}', count, 'hw:numa_nodes')
    cells = list(zip(_cpus(needs, count), _memory(needs, count, memory_mb),
                     strict=True))
    parts = [sorted(part) for part, _ in cells]
    if not all(parts) or sorted(itertools.chain(*parts)) != every:
        raise invalid_extra_spec(
            f'cells must hold each of {needs.vcpus} CPUs once, and one at '
            f'least, and hold {parts}', count, 'hw:numa_nodes')
    memory = sum(part for _, part in cells)
    if memory != memory_mb:
        raise invalid_extra_spec(
            f'cells must hold {memory_mb} MB together, and hold '
            f'{memory} MB', count, 'hw:numa_nodes')
    return cells


def _parsed(text, key):
    try:
        return parse_cpus(text)
    except MalformedError:
        raise invalid_extra_spec(
            'must be CPU numbers such as 0-3,^2', text, key) from None


def _page_size(needs):
    """Return the page size in KiB, negative for a kind of size, or None."""
    text = needs.flavor('hw:mem_page_size')
    of_image = needs.image.get('hw_mem_page_size')
    if of_image:
        if text not in ('large', 'any'):
            raise invalid_extra_spec(
                'must be large or any for an image that has '
                f'hw_mem_page_size = {of_image}', text,
                'hw:mem_page_size')
        text = of_image
    if not text:
        return None
    if text in _PAGE_SIZES:
        return _PAGE_SIZES[text]
    if re.fullmatch('[0-9]+', text):
        return int(text)
    try:
        return strutils.string_to_bytes(text, return_int=True) // 1024
    except ValueError:
        raise invalid_extra_spec(
            'must be small, large, any, a number of KiB, or a size '
            'such as 2MB', text, 'hw:mem_page_size') from None


def _cpus(needs, count):
    """Return the CPUs of each cell: list of sets."""
    cpus = _each(needs, count, 'numa_cpus', lambda key: _parsed(
        needs.flavor(key) or '', key))
    if cpus:
        return cpus
    share = _even(needs.vcpus, count, 'vcpus')
    return [set(range(number * share, (number + 1) * share))
            for number in range(count)]


def _memory(needs, count, memory_mb):
    """Return the memory of each cell: list of MiB."""
    return _each(needs, count, 'numa_mem', lambda key: (
        _number(needs, key) or 0)) or [
            _even(memory_mb, count, 'memory_mb')] * count


def _each(needs, count, what, read):
    """Return the values that flavor or image set for each cell: list; None
    without values.

    read: function of an extra spec's key.
    """
    of_flavor = None
    if any(needs.flavor(f'hw:{name}.0') is not None for name in _BOTH):
        of_flavor = [read(f'hw:{what}.{number}') for number in range(count)]
    values = _either(of_flavor, needs, f'hw_{what}')
    if values is None:
        if not any(needs.image.get(f'hw_{name}') for name in _BOTH):
            return None
        values = ()
    if len(values) != count:
        raise invalid_image_property(
            f'must have a value for each of {count} cells', values,
            f'hw_{what}')
    return list(values)


def _either(of_flavor, needs, name):
    """Return the value of the flavor, or of the image; None without any."""
    of_image = needs.image.get(name) or None
    if of_flavor is not None and of_image is not None:
        raise invalid_image_property(
            'must be left out, because the flavor sets it', of_image, name)
    return of_image if of_flavor is None else of_flavor


def _even(amount, count, name):
    each, rest = divmod(amount, count)
    if rest:
        raise invalid_extra_spec(
            f'must divide {name} = {amount}, or cells must be '
            'given one by one', count, 'hw:numa_nodes')
    return each


def _number(needs, key):
    text = needs.flavor(key)
    if text is None:
        return None
    if not re.fullmatch('[0-9]+', text) or (
            key == 'hw:numa_nodes' and not int(text)):
        raise invalid_extra_spec('must be a whole number', text, key)
    return int(text)
