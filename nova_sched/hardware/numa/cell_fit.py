"""The fit of one guest cell on one host cell, and its DEBUG lines.

``place`` has the rules for current compute services, ``place_queens`` the
rules for services older than Train: their cells do not separate the CPUs of
pinned guests.  Both stop at the first broken rule and return it with its
figures.  A selected page size stays with the guest cell, even if a later rule
is broken.
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

    place: its position in the order of the rules on a current host.
    text: format of Nova's DEBUG line for the broken rule.
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

    figures: arguments of the rule's text.
    """

    rule: Rule
    figures: tuple = ()

    def __str__(self):
        return self.rule.text % self.figures


def place_and_log(log, place, host, guest, *args):
    """Call ``place`` or ``place_queens``, and log the steps.

    log: function of a format and its arguments.
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
    log: function of a step's format and its arguments, or None.
    pin: function of numa_pinning; ``may_pin`` if only the verdict is needed.
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
    """Place a GuestCell on a HostCell older than Train; see ``place``."""
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
    """Select the page size for a guest cell that requests one."""
    size, requested = numa_pages.choose(host, guest), guest.pagesize
    if size is None:
        return Refusal(PAGES, (requested,))
    guest.pagesize = size
    if log:
        log(_SELECTED, size, requested)
    return None


def _refuse_cpus(host, guest, reserve):
    """Refuse a guest cell with more CPUs than the host cell has in total."""
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
