"""What Nova's API makes of a flavor and an image: the guest's NUMA cells.

Rules of Nova's user guides "CPU topologies" and "Huge pages".
"""

import re

from oslo_utils import strutils

from nova_sched import objects
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.numa import parse_cpus
from nova_sched.rules.flavor_image import FlavorImageRequirements
from nova_sched.rules.flavor_image import invalid_extra_spec
from nova_sched.rules.flavor_image import invalid_image_property

_PAGE_SIZES = {'small': -1, 'large': -2, 'any': -3}


def numa_topology(spec_obj):
    """Return the InstanceNUMATopology of a request, None if it asks for none.

    spec_obj: RequestSpec with a flavor, and perhaps an image.
    Raises InvalidInput for what Nova's API refuses.
    """
    needs = FlavorImageRequirements(spec_obj)
    policy = needs.agreed('hw:cpu_policy', ('shared', 'dedicated', 'mixed'))
    pinned = _pinned(needs, policy)
    size = _page_size(needs)
    count = _number(needs, 'hw:numa_nodes')
    of_image = needs.image.get('hw_numa_nodes')
    if None not in (count, of_image) and count != of_image:
        raise needs.differs('hw:numa_nodes')
    count = of_image if count is None else count
    threads = needs.agreed('hw:cpu_thread_policy',
                           ('prefer', 'isolate', 'require'))
    emulator = needs.flavor('hw:emulator_threads_policy',
                            ('share', 'isolate'))
    for key, value in (('hw:cpu_thread_policy', threads),
                       ('hw:emulator_threads_policy',
                        emulator == 'isolate' and emulator)):
        if value and not pinned:
            raise invalid_extra_spec('needs dedicated CPUs', value, key)
    if (count is None and not pinned and size is None
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


def _cells(needs, count, memory_mb):
    """Return what the cells hold, together each CPU once and all memory.

    List of (set of CPUs, MiB).
    """
    cells = list(zip(_cpus(needs, count), _memory(needs, count, memory_mb),
                     strict=True))
    cpus = sorted(cpu for some, _ in cells for cpu in some)
    if cpus != list(range(needs.vcpus)) or not all(
            some for some, _ in cells):
        raise invalid_extra_spec(
            f'cells must hold each of {needs.vcpus} CPUs once, '
            'and one at least, and hold '
            f'{[sorted(some) for some, _ in cells]}', count,
            'hw:numa_nodes')
    memory = sum(some for _, some in cells)
    if memory != memory_mb:
        raise invalid_extra_spec(
            f'cells must hold {memory_mb} MB together, and hold '
            f'{memory} MB', count, 'hw:numa_nodes')
    return cells


def _pinned(needs, policy):
    """Return the guest's pinned CPUs: set of numbers."""
    every = set(range(needs.vcpus))
    if policy == 'dedicated':
        return every
    if policy != 'mixed':
        return set()
    mask = (needs.flavor('hw:cpu_dedicated_mask')
            or needs.flavor('hw:cpu_realtime_mask'))
    if mask is None:
        raise invalid_extra_spec(
            'needs hw:cpu_dedicated_mask', policy, 'hw:cpu_policy')
    given = _parsed(mask, 'hw:cpu_dedicated_mask')
    return every - given if mask.startswith('^') else every & given


def _parsed(text, key):
    try:
        if text.startswith('^'):
            # All but these.
            text = text.replace('^', '')
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
    if needs.flavor('hw:numa_cpus.0') is not None:
        return [_parsed(needs.flavor(key) or '', key) for key in (
            f'hw:numa_cpus.{number}' for number in range(count))]
    if of_image := needs.image.get('hw_numa_cpus'):
        return _one_each(of_image, count, 'hw_numa_cpus')
    each = _even(needs.vcpus, count, 'vcpus')
    return [set(range(number * each, (number + 1) * each))
            for number in range(count)]


def _memory(needs, count, memory_mb):
    """Return the memory of each cell: list of MiB."""
    if needs.flavor('hw:numa_mem.0') is not None:
        return [_number(needs, f'hw:numa_mem.{number}') or 0
                for number in range(count)]
    if of_image := needs.image.get('hw_numa_mem'):
        return _one_each(of_image, count, 'hw_numa_mem')
    return [_even(memory_mb, count, 'memory_mb')] * count


def _one_each(values, count, name):
    if len(values) != count:
        raise invalid_image_property(
            f'must say it for each of {count} cells', values,
            name)
    return list(values)


def _even(amount, count, name):
    each, left = divmod(amount, count)
    if left:
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
