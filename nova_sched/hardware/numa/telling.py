"""What DEBUG tells of guest cells that are tried on host cells.

The lines follow ``cell_fit``: its rules in its order, up to the first that is
broken.  Nothing here decides anything.
"""

import copy

from oslo_log import log as logging

from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning as numa_pinning

LOG = logging.getLogger(__name__)

_NO_MEMORY = ('Not enough host cell memory to fit instance cell. Required: '
              '%d, actual: %d')
_NO_CPUS = ('Not enough host cell CPUs to fit instance cell. Required: %d + '
            '%d as overhead, actual: %d')
_NO_FREE_CPUS = (
    'Not enough available CPUs to schedule instance. Oversubscription is not '
    'possible with pinned instances. Required: %d (%d + %d), actual: %d')
_NO_FREE_MEMORY = (
    'Not enough available memory to schedule instance. Oversubscription is '
    'not possible with pinned instances. Required: %s, available: %s, total: '
    '%s. ')
_OVER = ('Host cell has limitations on usable %s. There %s not enough free %s '
         'to schedule this instance. Usage: %d, limit: %d')
_PACKING = (
    'Packing an instance onto a set of siblings:     available_siblings: %s'
    '    instance_cell: %s    host_cell_id: %s    threads_per_core: %s')
_NO_THREADS = (
    'Host does not support hyperthreading or hyperthreading is disabled, but '
    "'require' threads policy was requested.")
_NO_SIBLINGS = (
    'No available siblings. This is likely due to a race caused by multiple '
    'instances attempting to claim the same resources')
# As Nova has it, without a blank between its two sentences.
_NO_FREE_CORE = (
    'Host does not have any fully free thread sibling sets.It is not possible '
    'to emulate a non-SMT behavior for the isolate policy without this.')
_TOO_FEW_NODES = (
    'There are not enough NUMA nodes on the system to schedule the instance '
    'correctly. Required: %s, actual: %s')


def is_on():
    """Whether anything is told."""
    return LOG.isEnabledFor(logging.DEBUG)


def tell_too_few(required, actual):
    """Tell that a host has fewer cells than a guest."""
    LOG.debug(_TOO_FEW_NODES, required, actual)


def tell(*args):
    """Tell how a fit comes out; the arguments are those of ``lines``."""
    for text, *values in lines(*args):
        LOG.debug(text, *values)


def lines(host, guest, limits, reserve, newer):
    """How a GuestCell fits on a HostCell: yields (text, *values).

    limits, reserve: as in ``cell_fit.place``.
    newer: False for the rules of before Train.
    """
    yield ('Attempting to fit instance cell %s on host_cell %s', guest, host)
    guest = copy.copy(guest)
    rules = _today if newer else _queens
    yield from rules(host, guest, limits, reserve)


def _today(host, guest, limits, reserve):
    if not (yield from _pages(host, guest)):
        return
    if guest.pagesize is None and not numa_pages.fits_plainly(host, guest):
        if guest.is_pinned:
            yield _no_free_memory(host, guest)
        else:
            yield _NO_MEMORY, guest.memory, host.memory
        return
    pinned, shared = len(guest.pcpuset), len(guest.cpuset)
    if guest.is_pinned and pinned + reserve > len(host.pcpuset):
        yield _NO_CPUS, pinned, reserve, len(host.pcpuset)
        return
    if guest.is_shared and shared > len(host.cpuset):
        yield _NO_CPUS, shared, 0, len(host.cpuset)
        return
    if guest.is_pinned and not (yield from _pinned(
            host, guest, reserve, pinned, True)):
        return
    if guest.is_shared:
        yield from _limited(host, guest, limits)


def _queens(host, guest, limits, reserve):
    if guest.cpus + reserve > len(host.cpuset):
        yield _NO_CPUS, guest.cpus, reserve, len(host.cpuset)
        return
    if guest.memory > host.memory:
        yield _NO_MEMORY, guest.memory, host.memory
        return
    fits = (_pinned(host, guest, reserve, guest.cpus, False)
            if guest.is_pinned else _limited(host, guest, limits))
    if (yield from fits):
        yield from _pages(host, guest)


def _pages(host, guest):
    wanted = guest.pagesize
    if wanted is None:
        return True
    size = numa_pages.choose(host, guest)
    if size is None:
        yield ('Host does not support requested memory pagesize. Requested: '
               '%d kB', wanted)
        return False
    guest.pagesize = size
    yield ('Selected memory pagesize: %d kB. Requested memory pagesize: %d '
           '(small = -1, large = -2, any = -3)', size, wanted)
    return True


def _pinned(host, guest, reserve, cpus, newer):
    yield ('Pinning has been requested',)
    if cpus + reserve > len(host.free_cpus):
        yield (_NO_FREE_CPUS, cpus + reserve, cpus, reserve,
               len(host.free_cpus))
        return False
    if not newer and guest.memory > host.free_memory:
        yield _no_free_memory(host, guest)
        return False
    found = numa_pinning.pin(host, guest, reserve, newer=newer)
    yield from _packed(host, guest, cpus, found)
    if not found:
        yield ('Failed to map instance cell CPUs to host cell CPUs',)
        return False
    yield ('Selected cores for pinning: %s, in cell %s',
           sorted(found[0].items()), host.id)
    return True


def _packed(host, guest, cpus, found):
    """How pins were looked for.

    cpus: how many.  found: what ``numa_pinning.pin`` answers.
    """
    policy = guest.thread_policy
    if host.siblings:
        yield ('Using thread siblings for packing',)
    elif policy == 'require':
        yield (_NO_THREADS,)
        return
    cores = [core for core in host.free_cores if core]
    yield _PACKING, cores, guest, host.id, host.threads
    if not cores:
        yield (_NO_SIBLINGS,)
        return
    sets = {threads: [core for core in cores if len(core) >= threads]
            for threads in range(1, max(map(len, cores)) + 1)}
    yield 'Built sibling_sets: %s', sets
    if policy:
        yield "Requested '%s' thread policy for %d cores", policy, cpus
    else:
        yield ('User did not specify a thread policy. Using default for %d '
               'cores', cpus)
    if found:
        yield from _pins(cores, *found)
    elif policy == 'isolate' and host.threads not in sets:
        yield (_NO_FREE_CORE,)
    elif policy == 'require':
        yield ('Skipping threads_no: %s, as it does not satisfy the require '
               'policy', 1)


def _pins(cores, pins, reserved):
    yield ('Computed NUMA topology CPU pinning: usable pCPUs: %s, vCPUs '
           'mapping: %s', cores, sorted(pins.items()))
    if reserved:
        yield ('Computed NUMA topology reserved pCPUs: usable pCPUs: %s, '
               'reserved pCPUs: %s', cores, sorted(reserved))


def _limited(host, guest, limits):
    if limits is None:
        return True
    yield ('No pinning requested, considering limitations on usable cpu and '
           'memory',)
    memory = host.memory_usage + guest.memory
    if memory > host.memory * limits.ram_ratio:
        yield (_OVER, 'memory', 'is', 'memory', memory,
               host.memory * limits.ram_ratio)
        return False
    cpus = host.cpu_usage + len(guest.cpuset)
    if cpus > len(host.cpuset) * limits.cpu_ratio:
        yield (_OVER, 'CPUs', 'are', 'CPUs', cpus,
               len(host.cpuset) * limits.cpu_ratio)
        return False
    return True


def _no_free_memory(host, guest):
    return _NO_FREE_MEMORY, guest.memory, host.free_memory, host.memory
