"""What a guest's NUMA cells need and what host cells offer, in words."""

from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hosts import budget

_SIZE_NAMES = {numa_pages.SMALL: 'the smallest', numa_pages.LARGE: 'large',
           numa_pages.ANY: 'any'}


def needed(required):
    """Return 'need ...' for a guest: numa_guest.GuestRequirements."""
    most = ', '.join(f'{need} {unit}' for need, unit, _ in _kinds(required))
    return (f'need {_counted(required.cells, "NUMA cell")}'
            f'{" with up to " * bool(most)}{most}{_extras(required)}')


def offered(required, topologies):
    """Return 'at best ...' for hosts that a guest does not fit on.

    required: numa_guest.GuestRequirements.
    topologies: list of HostTopology or None.
    For each kind of need it is the best that any one host cell offers.
    """
    hosts = [topology.cells for topology in topologies
             if topology is not None and topology.cells]
    if not hosts:
        return 'hosts have no NUMA topology'
    cells = [cell for host in hosts for cell in host]
    best = ''.join(f', {max(map(offer, cells))} {unit}'
                   for _, unit, offer in budget.checked(_kinds(required)))
    return f'at best {_counted(max(hosts, key=len), "NUMA cell")}{best}'


def _kinds(required):
    """Return (most that a guest cell needs, unit, host cell's offer) each."""
    return [kind for kind in _all_kinds(required.cells) if kind[0]]


def _all_kinds(guests):
    pinned = any(guest.is_pinned for guest in guests)
    yield (max((guest.memory for guest in guests), default=0),
           'MB free' if pinned else 'MB',
           lambda cell: cell.usable_memory(pinned))
    yield (max((len(guest.cpuset) for guest in guests), default=0),
           'floating CPUs', lambda cell: len(cell.cpuset))
    yield (max((len(guest.pcpuset) for guest in guests), default=0),
           'free CPUs to pin', lambda cell: len(cell.free_cpus))
    if any(guest.thread_policy == 'require' for guest in guests):
        yield 2, 'threads a core', lambda cell: cell.threads
    for size in sorted({guest.pagesize for guest in guests} - {None}):
        name = _SIZE_NAMES.get(size, f'{size} kB')
        yield (max(guest.memory for guest in guests
                   if guest.pagesize == size), f'MB in {name} pages',
               lambda cell, size=size: numa_pages.most_free(cell, size))


def _extras(required):
    extras = [(required.isolate_emulator, 'a CPU for the emulator'),
              (required.pci, 'PCI devices near by'),
              (required.networks, 'networks near by')]
    return ''.join(f', {text}' for wanted, text in extras if wanted)


def _counted(cells, name):
    return f'{len(cells)} {name}{"" if len(cells) == 1 else "s"}'
