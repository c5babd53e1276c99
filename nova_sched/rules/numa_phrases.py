"""Texts on the NUMA cells that a guest needs and that hosts have."""

from nova_sched import toml_files
from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning
from nova_sched.hardware.numa import shortfall

_SIZE_NAMES = {numa_pages.SMALL: 'the smallest', numa_pages.LARGE: 'large',
               numa_pages.ANY: 'any'}

#: Failed test -> text about the host, or host cell, that is closest to a fit.
_LACKING = {
    getattr(module, name): text for module in (cell_fit, pinning, shortfall)
    for name, text in toml_files.read('numa_phrases.toml', __package__)[
        module.__name__.rpartition('.')[2]].items()}


def needed(required):
    """Return the text 'need ...' for a guest.

    required: numa_guest.GuestRequirements.
    """
    most = ', '.join(f'{need} {unit}' for need, unit
                     in _kinds(required.cells) if need)
    return (f'need {_counted(required.cells, "NUMA cell")}'
            f'{" with up to " * bool(most)}{most}{_extras(required)}')


def lacking(failed):
    """Return the text 'nearest ...' for the host that is closest to a fit.

    failed: numa.shortfall.Shortfall of that host.
    """
    size = failed.size and _pages(failed.size)
    return _LACKING[failed.test].format(
        need=failed.need, have=failed.have, size=size,
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
