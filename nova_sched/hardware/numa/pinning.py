"""Pinning guest CPUs to free threads of a host cell.

``k threads a core`` means: take k free threads of each core that has at least
as many, core after core.  More threads of fewer cores are preferred.
"""

import itertools


def pin(host, guest, reserve, newer=True):
    """Where the pinned CPUs of a guest cell go: (pins, reserved) or None.

    host: HostCell.  guest: GuestCell.
    reserve: whether one more CPU is wanted for the emulator.
    newer: False for hosts of before Train, which may hold whole cores back on
        any host, and take the emulator's CPU from the cores used.
    Returns a dict guest CPU -> host CPU and a set of host CPUs.
    """
    cpus = sorted(guest.pcpuset if newer else guest.cpuset | guest.pcpuset)
    if not cpus and (reserve or guest.thread_policy == 'isolate'):
        # To Nova, no pins are pins that were not found, but for this cell of
        # a guest that mixes pinned and floating CPUs.
        return None
    packing = _Packing(host, cpus, reserve, newer)
    if guest.thread_policy == 'isolate':
        return packing.isolated()
    if guest.thread_policy == 'require':
        return packing.packed(2) if host.threads > 1 else None
    return packing.packed(1)


class _Packing:
    def __init__(self, host, cpus, reserve, newer):
        self._host, self._cpus = host, cpus
        self._reserve, self._newer = reserve, newer

    def _with(self, free):
        """The cores that have at least so many free threads."""
        return [core for core in self._host.free_cores if len(core) >= free]

    def isolated(self):
        """One CPU a core that is wholly free; its other threads stay idle."""
        host, cores = self._host, self._with(self._host.threads)
        if not cores or (self._newer and host.threads > 1 and (
                host.pcpuset != host.cpuset)):
            return None
        pins = self._pin(cores, 1)
        if pins is None:
            return None
        return self._complete(pins, self._with(1) if self._newer else cores,
                              whole=True)

    def packed(self, fewest):
        """As many threads a core as will do, but at least ``fewest``."""
        most = max(map(len, self._host.free_cores), default=0)
        pins = None
        for threads in range(most, fewest - 1, -1):
            cores = self._with(threads)
            pins = self._pin(cores, threads)
            found = pins is not None and self._complete(
                pins, self._with(1) if self._newer else cores)
            if found:
                return found
        if pins is not None or fewest > 1:
            return None
        singles = [[cpu] for core in self._host.free_cores for cpu in core]
        pins = self._pin(singles, 1)
        return pins if pins is None else self._complete(pins, singles)

    def _pin(self, cores, threads):
        if threads * len(cores) < len(self._cpus):
            return None
        chosen = itertools.chain.from_iterable(
            core[:threads] for core in cores)
        return dict(zip(self._cpus, chosen, strict=False))

    def _complete(self, pins, cores, whole=False):
        """(pins, reserved), or None if no CPU is left for the emulator.

        whole: not of a core that a guest CPU is on.
        """
        if not self._reserve:
            return pins, frozenset()
        taken = set(pins.values())
        for core in cores:
            if whole and taken.intersection(core):
                continue
            for cpu in core:
                if cpu not in taken:
                    return pins, frozenset((cpu,))
        return None
