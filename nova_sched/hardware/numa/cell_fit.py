"""The fit of one guest cell on one host cell, and its DEBUG lines.

``place`` holds the rules for current compute services, ``place_queens`` those
for services older than Train, whose cells do not tell pinned guests' CPUs from
others'.  Both stop at the first rule that is broken and return it with its
figures.  A page size that was selected stays with the guest cell, even if a
later rule is broken.
"""

import itertools
import typing

from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning as numa_pinning

_SELECTED = ('Selected memory pagesize: %d kB. Requested memory pagesize: %d '
             '(small = -1, large = -2, any = -3)')
_LIMITED = ('No pinning requested, considering limitations on usable cpu and '
            'memory')
_NO_CPUS = ('Not enough host cell CPUs to fit instance cell. Required: %d + '
            '%d as overhead, actual: %d')
_OVER_LIMIT = (
    'Host cell has limitations on usable %s. There %s not enough free %s to '
    'schedule this instance. Usage: %d, limit: %d')


class Rule(typing.NamedTuple):
    """One rule of a fit.

    place: among all of them; on a current host later ones are looked at last.
    text: Nova's DEBUG line where it is broken, with places for the figures.
    """

    place: int
    text: str


(PAGES, MEMORY, FREE_MEMORY, CPUS_TO_PIN, CPUS_TO_FLOAT, FREE_CPUS, PINS,
 MEMORY_LIMIT, CPU_LIMIT) = itertools.starmap(Rule, enumerate((
     'Host does not support requested memory pagesize. Requested: %d kB',
     'Not enough host cell memory to fit instance cell. Required: %d, actual: '
     '%d',
     'Not enough available memory to schedule instance. Oversubscription is '
     'not possible with pinned instances. Required: %s, available: %s, total: '
     '%s. ',
     _NO_CPUS, _NO_CPUS,
     'Not enough available CPUs to schedule instance. Oversubscription is not '
     'possible with pinned instances. Required: %d (%d + %d), actual: %d',
     'Failed to map instance cell CPUs to host cell CPUs',
     _OVER_LIMIT, _OVER_LIMIT)))


class Refusal(typing.NamedTuple):
    """The rule that a guest cell breaks on a host cell.

    figures: those of the rule's text.
    """

    rule: Rule
    figures: tuple = ()

    def __str__(self):
        return self.rule.text % self.figures


def place_and_log(log, place, host, guest, *args):
    """Place as ``place`` or ``place_queens`` does, and log the steps.

    log: function that takes a text and its values.
    """
    log('Attempting to fit instance cell %s on host_cell %s', str(guest),
        host)
    refusal = place(host, guest, *args, log)
    if refusal is not None:
        log(refusal.rule.text, *refusal.figures)
    return refusal


def place(host, guest, limits, reserve, log=None, pin=numa_pinning.pin):
    """Place a GuestCell on a HostCell of a current compute service.

    limits: Limits, or None for no overcommit limit.
    reserve: whether the emulator needs a host CPU of its own.
    log: function that takes the text of a step and its values, or None.
    pin: of numa_pinning, ``may_pin`` where only the verdict is wanted.
    Returns the Refusal, or None if the cell is placed.
    """
    refusal = (_refuse_memory(host, guest, log)
               or _refuse_cpus(host, guest, reserve))
    pinning = numa_pinning.NO_PINS
    if not refusal and guest.is_pinned:
        refusal, pinning = _pin(host, guest, len(guest.pcpuset), reserve,
                                True, log, pin)
    if not refusal and guest.is_shared:
        refusal = _refuse_overcommit(host, guest, limits, log)
    return refusal or _write(host, guest, pinning)


def place_queens(host, guest, limits, reserve, log=None,
                 pin=numa_pinning.pin):
    """Place as ``place`` does, on a host of before Train."""
    pinning = numa_pinning.NO_PINS
    if guest.cpus + reserve > len(host.cpuset):
        refusal = Refusal(CPUS_TO_PIN if guest.is_pinned else CPUS_TO_FLOAT,
                          (guest.cpus, reserve, len(host.cpuset)))
    elif guest.memory > host.memory:
        refusal = Refusal(MEMORY, (guest.memory, host.memory))
    elif guest.is_pinned:
        refusal, pinning = _pin(host, guest, guest.cpus, reserve, False, log,
                                pin)
    else:
        refusal = _refuse_overcommit(host, guest, limits, log)
    if not refusal and guest.pagesize is not None:
        refusal = _refuse_pagesize(host, guest, log)
    return refusal or _write(host, guest, pinning)


def _refuse_memory(host, guest, log):
    if guest.pagesize is not None:
        return _refuse_pagesize(host, guest, log)
    if numa_pages.fits_plainly(host, guest):
        return None
    if guest.is_pinned:
        return _no_free_memory(host, guest)
    return Refusal(MEMORY, (guest.memory, host.memory))


def _refuse_pagesize(host, guest, log):
    """Select the page size for a guest cell that asks for one."""
    size, wanted = numa_pages.choose(host, guest), guest.pagesize
    if size is None:
        return Refusal(PAGES, (wanted,))
    guest.pagesize = size
    if log:
        log(_SELECTED, size, wanted)
    return None


def _refuse_cpus(host, guest, reserve):
    """Never overcommit a guest cell against itself."""
    pinned, shared = len(guest.pcpuset), len(guest.cpuset)
    if guest.is_pinned and pinned + reserve > len(host.pcpuset):
        return Refusal(CPUS_TO_PIN, (pinned, reserve, len(host.pcpuset)))
    if guest.is_shared and shared > len(host.cpuset):
        return Refusal(CPUS_TO_FLOAT, (shared, 0, len(host.cpuset)))
    return None


def _pin(host, guest, cpus, reserve, newer, log, pin):
    """Pin ``cpus`` guest CPUs: (Refusal or None, Pinning or None)."""
    if log:
        log('Pinning has been requested')
    free = len(host.free_cpus)
    if cpus + reserve > free:
        return Refusal(FREE_CPUS,
                       (cpus + reserve, cpus, reserve, free)), None
    if not newer and guest.memory > host.free_memory:
        return _no_free_memory(host, guest), None
    pinning = pin(host, guest, reserve, newer, log)
    if pinning is None:
        return Refusal(PINS), None
    if log:
        log('Selected cores for pinning: %s, in cell %s',
            sorted(pinning.pins.items()), host.id)
    return None, pinning


def _no_free_memory(host, guest):
    return Refusal(FREE_MEMORY,
                   (guest.memory, host.free_memory, host.memory))


def _refuse_overcommit(host, guest, limits, log):
    if limits is None:
        return None
    if log:
        log(_LIMITED)
    usage = host.memory_usage + guest.memory
    limit = host.memory * limits.ram_ratio
    if usage > limit:
        return Refusal(MEMORY_LIMIT,
                       ('memory', 'is', 'memory', usage, limit))
    usage = host.cpu_usage + len(guest.cpuset)
    limit = len(host.cpuset) * limits.cpu_ratio
    if usage > limit:
        return Refusal(CPU_LIMIT,
                       ('CPUs', 'are', 'CPUs', usage, limit))
    return None


def _write(host, guest, pinning):
    guest.id = host.id
    guest.pins, guest.reserved = pinning
