"""Whether one guest cell fits on one host cell; it is written there if so.

``place`` holds the rules of today's hosts, ``place_queens`` those of compute
services of before Train, whose cells do not tell pinned guests' CPUs from
others'.  Both stop at the first rule that is broken; a page size that was
settled before stays with the guest cell.
"""

from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa import pinning as numa_pinning


def place(host, guest, limits, reserve):
    """Place a GuestCell on a HostCell; whether it fits.

    limits: Limits, or None for no overcommit limit.
    reserve: whether the emulator wants a host CPU of its own.
    """
    if not _pages(host, guest) or (
            guest.pagesize is None
            and not numa_pages.fits_plainly(host, guest)):
        return False
    needed = len(guest.pcpuset) + reserve
    if (guest.is_pinned and needed > len(host.pcpuset)) or (
            guest.is_shared and len(guest.cpuset) > len(host.cpuset)):
        return False
    found = {}, frozenset()
    if guest.is_pinned:
        found = needed <= len(host.free_cpus) and numa_pinning.pin(
            host, guest, reserve)
        if not found:
            return False
    if guest.is_shared and not _within(host, guest, limits):
        return False
    _write(host, guest, found)
    return True


def place_queens(host, guest, limits, reserve):
    """As ``place``, on a host of before Train."""
    if (guest.cpus + reserve > len(host.cpuset)
            or guest.memory > host.memory):
        return False
    found = {}, frozenset()
    if guest.is_pinned:
        found = (guest.cpus + reserve <= len(host.free_cpus)
                 and guest.memory <= host.free_memory
                 and numa_pinning.pin(host, guest, reserve, newer=False))
        if not found:
            return False
    elif not _within(host, guest, limits):
        return False
    if not _pages(host, guest):
        return False
    _write(host, guest, found)
    return True


def _pages(host, guest):
    """Settle the page size of a guest that asks for one; whether it can."""
    if guest.pagesize is None:
        return True
    size = numa_pages.choose(host, guest)
    if size is None:
        return False
    guest.pagesize = size
    return True


def _within(host, guest, limits):
    """Whether overcommit stays within its limits."""
    return limits is None or (
        host.cpu_usage + len(guest.cpuset)
        <= len(host.cpuset) * limits.cpu_ratio
        and host.memory_usage + guest.memory
        <= host.memory * limits.ram_ratio)


def _write(host, guest, found):
    guest.id = host.id
    guest.pins, guest.reserved = found
