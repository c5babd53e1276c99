"""Texts on the NUMA cells that a guest needs and that hosts have."""

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning as numa_pinning
from nova_sched.hardware.numa import shortfall as shortfalls

_SIZE_NAMES = {numa_pages.SMALL: 'the smallest', numa_pages.LARGE: 'large',
               numa_pages.ANY: 'any'}

#: Failed test -> text about the host, or host cell, that is closest to a fit.
_LACKING = {
    test: f'nearest NUMA cell has {{have}} of {{need}} {noun}'
    for test, noun in {
        cell_fit.PAGES: 'MB free{pages}',
        cell_fit.MEMORY: 'MB{pages}',
        cell_fit.FREE_MEMORY: 'MB free{pages}',
        cell_fit.CPUS_TO_PIN: 'CPUs to pin',
        cell_fit.CPUS_TO_FLOAT: 'floating CPUs',
        cell_fit.FREE_CPUS: 'free CPUs to pin',
        cell_fit.MEMORY_LIMIT: 'MB below the overcommit limit',
        cell_fit.CPU_LIMIT: 'floating CPUs below the overcommit limit',
        numa_pinning.THREADS: 'threads a core',
        numa_pinning.WHOLE_CORES: 'whole cores',
        numa_pinning.CORES: 'cores, one of them for the emulator',
        numa_pinning.SIBLINGS: 'free CPUs as thread siblings',
        numa_pinning.KNOWN_CPUS: 'free CPUs whose core is known'}.items()} | {
    test: f'nearest host has {text}' for test, text in {
        shortfalls.CELLS: '{have} of {need} NUMA cells',
        shortfalls.ROOM: 'room for {have} of {need} NUMA cells at once',
        shortfalls.DEVICES: '{have} of {need} PCI devices near to NUMA cells '
                            'with room',
        shortfalls.NETWORKS: 'no NUMA cells with room that are near to its '
                             'networks',
        shortfalls.PROVIDERS: 'room and devices, but not at the providers '
                              'that Placement names',
        shortfalls.NEAR: 'NUMA cells with room, but none near to all its '
                         'devices and networks together',
        shortfalls.ORDER: 'a NUMA cell for each, but not in the order in '
                          'which they are tried'}.items()} | {
    shortfalls.MULTIPLE: '{need} MB are no whole number of {size}',
    shortfalls.GIVEN_UP: 'the search for cells near to its devices and '
                         'networks was given up',
    numa_pinning.ONE_THREAD: 'cores are isolated where they have 1 thread, '
                             'nearest NUMA cell has cores of {have}',
    numa_pinning.NO_CPU: 'the first NUMA cell has no CPU to pin'}


def needed(required):
    """Return the text 'need ...' for a guest.

    required: numa_guest.GuestRequirements.
    """
    most = ', '.join(f'{need} {unit}' for need, unit
                     in _kinds(required.cells) if need)
    return (f'need {_counted(required.cells, "NUMA cell")}'
            f'{" with up to " * bool(most)}{most}{_extras(required)}')


def lacking(shortfall):
    """Return the text 'nearest ...' for the host that is closest to a fit.

    shortfall: numa.shortfall.Shortfall of that host.
    """
    size = shortfall.size and _pages(shortfall.size)
    return _LACKING[shortfall.test].format(
        need=shortfall.need, have=shortfall.have, size=size,
        pages=f' in {size}' if size else '')


def _kinds(guests):
    """Yield the largest amounts that a cell of a guest needs: (int, unit)."""
    pinned = any(guest.is_pinned for guest in guests)
    policies = {guest.thread_policy for guest in guests}
    yield (max((guest.memory for guest in guests), default=0),
           'MB free' if pinned else 'MB')
    yield (max((len(guest.cpuset) for guest in guests), default=0),
           'floating CPUs')
    yield (max((len(guest.pcpuset) for guest in guests), default=0),
           'whole cores to pin' if 'isolate' in policies
           else 'free CPUs to pin')
    if 'require' in policies:
        yield 2, 'threads a core'
    for size in sorted({guest.pagesize for guest in guests} - {None}):
        yield (max(guest.memory for guest in guests
                   if guest.pagesize == size), f'MB in {_pages(size)}')


def _pages(size):
    return f'{_SIZE_NAMES.get(size, f"{size} kB")} pages'


def _extras(required):
    extras = [(required.isolate_emulator, 'a CPU for the emulator'),
              (required.pci, 'PCI devices near by'),
              (required.networks, 'networks near by')]
    return ''.join(f', {text}' for needed_, text in extras if needed_)


def _counted(cells, name):
    return f'{len(cells)} {name}{"" if len(cells) == 1 else "s"}'
