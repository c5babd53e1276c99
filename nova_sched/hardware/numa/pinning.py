"""Pinning guest CPUs to free threads of a host cell.

``k threads a core`` means: take k free threads of each core with at least k
free threads, core after core.  More threads of fewer cores are preferred.
"""

import itertools
import typing

_NO_THREADS = (
    'Host does not support hyperthreading or hyperthreading is disabled, but '
    "'require' threads policy was requested.")
_PACKING = (
    'Packing an instance onto a set of siblings:     available_siblings: %s'
    '    instance_cell: %s    host_cell_id: %s    threads_per_core: %s')
_NO_SIBLINGS = (
    'No available siblings. This is likely due to a race caused by multiple '
    'instances attempting to claim the same resources')
# Nova's text, without a blank between its sentences.
_NO_FREE_CORE = (
    'Host does not have any fully free thread sibling sets.It is not possible '
    'to emulate a non-SMT behavior for the isolate policy without this.')
_PINS = ('Computed NUMA topology CPU pinning: usable pCPUs: %s, vCPUs '
         'mapping: %s')
_RESERVED = ('Computed NUMA topology reserved pCPUs: usable pCPUs: %s, '
             'reserved pCPUs: %s')


#: Tests of pinning.
(THREADS, ONE_THREAD, WHOLE_CORES, CORES, SIBLINGS, KNOWN_CPUS, NO_CPU) = (
    'threads', 'one thread', 'whole cores', 'cores', 'siblings',
    'known CPUs', 'no CPU')


class Pinning(typing.NamedTuple):
    """The pins of a guest cell.

    pins: guest CPU -> host CPU.  reserved: host CPUs for the emulator.
    """

    pins: dict
    reserved: frozenset


NO_PINS = Pinning({}, frozenset())


def pin(host, guest, reserve, newer=True, log=None):
    """Return the Pinning of a guest cell, or None if its CPUs do not fit.

    host: HostCell.  guest: GuestCell.
    reserve: whether the emulator needs a CPU of its own.
    newer: False for hosts older than Train: they isolate cores on any host,
        and take the emulator's CPU from the cores used.
    log: function of a step's format and its arguments, or None.
    """
    if log and host.siblings:
        log('Using thread siblings for packing')
    if guest.thread_policy == 'require' and not host.siblings:
        if log:
            log(_NO_THREADS)
        return None
    packing = _Packing(host, guest, reserve, newer, log)
    if guest.thread_policy == 'isolate':
        return packing.isolate()
    if guest.thread_policy == 'require':
        return packing.pack(2)
    return packing.pack(1)


def may_pin(host, guest, reserve, newer=True, log=None):
    """Return NO_PINS if ``pin`` would return a Pinning, otherwise None."""
    if reserve or guest.thread_policy in ('isolate', 'require'):
        fits = pin(host, guest, reserve, newer, log) is not None
    else:
        cpus = guest.pcpuset if newer else guest.cpuset | guest.pcpuset
        fits = len(cpus) <= host.free_threads
    return NO_PINS if fits else None


def shortfall(host, guest, reserve, newer=True):
    """Return (failed test, needed number, available number) of a pinning.

    Arguments: see ``pin``, for a guest cell that ``pin`` refuses although the
    number of free CPUs suffices.
    """
    packing = _Packing(host, guest, reserve, newer, None)
    if guest.thread_policy == 'require' and not host.siblings:
        return THREADS, 2, 1
    if guest.thread_policy == 'isolate':
        return packing.isolate_shortfall()
    return packing.pack_shortfall(
        2 if guest.thread_policy == 'require' else 1)


class _Packing:
    """The choice of host CPUs for one guest cell."""

    def __init__(self, host, guest, reserve, newer, log):
        self._host, self._reserve, self._newer = host, reserve, newer
        self._cpus = sorted(guest.pcpuset if newer
                            else guest.cpuset | guest.pcpuset)
        self._log = log and self._log_start(guest, log)

    def _log_start(self, guest, log):
        """Log the available cores.

        Returns the function for further lines; None if Nova logs none.
        """
        cores = self._with(1)
        log(_PACKING, cores, str(guest), self._host.id, self._host.threads)
        if not cores:
            log(_NO_SIBLINGS)
            return None
        log('Built sibling_sets: %s', {
            threads: self._with(threads)
            for threads in range(1, max(map(len, cores)) + 1)})
        if guest.thread_policy:
            log("Requested '%s' thread policy for %d cores",
                guest.thread_policy, len(self._cpus))
        else:
            log('User did not specify a thread policy. Using default for %d '
                'cores', len(self._cpus))
        return log

    def _with(self, free):
        """Return the cores with at least this number of free threads."""
        return [core for core in self._host.free_cores if len(core) >= free]

    def isolate(self):
        """Pin one CPU on each wholly free core; leave other threads idle."""
        cores = self._with(self._host.threads)
        if not cores:
            if self._log:
                self._log(_NO_FREE_CORE)
            return None
        # Nova treats an empty set of pins as a failure.  Only a guest with
        # pinned and floating CPUs has such a cell.
        if not self._cpus or self._takes_one_thread():
            return None
        pins = self._pin(cores, 1)
        if pins is None:
            return None
        return self._complete(pins, self._with(1) if self._newer else cores,
                              whole=True)

    def isolate_shortfall(self):
        """Return the failed test of ``isolate``, see ``shortfall``."""
        whole, count = len(self._with(self._host.threads)), len(self._cpus)
        if not count:
            return NO_CPU, 1, 0
        if whole and self._takes_one_thread():
            return ONE_THREAD, 1, self._host.threads
        if whole < count:
            return WHOLE_CORES, count, whole
        return CORES, count + 1, (len(self._with(1)) if self._newer
                                  else whole)

    def _takes_one_thread(self):
        """Return whether ``isolate`` refuses hosts with several threads."""
        return (self._newer and self._host.threads > 1
                and self._host.pcpuset != self._host.cpuset)

    def pack(self, fewest):
        """Pin the most threads a core that fit, but at least ``fewest``."""
        pinning = self._pack(fewest)
        if pinning is None and fewest > 1 and self._log:
            self._log('Skipping threads_no: %s, as it does not satisfy the '
                      'require policy', 1)
        return pinning

    def _pack(self, fewest):
        # As in ``isolate``.
        if not self._cpus and self._reserve:
            return None
        most = max(map(len, self._host.free_cores), default=0)
        pins = None
        for threads in range(most, fewest - 1, -1):
            cores = self._with(threads)
            pins = self._pin(cores, threads)
            pinning = pins is not None and self._complete(
                pins, self._with(1) if self._newer else cores)
            if pinning:
                return pinning
        if pins is not None or fewest > 1:
            return None
        singles = [[cpu] for core in self._host.free_cores for cpu in core]
        pins = self._pin(singles, 1)
        return pins if pins is None else self._complete(pins, singles)

    def pack_shortfall(self, fewest):
        """Return the failed test of ``pack``, see ``shortfall``."""
        count, free = len(self._cpus), self._host.free_threads
        if not count and self._reserve:
            return NO_CPU, 1, 0
        if fewest == 1 or (self._newer and free < count + self._reserve):
            return KNOWN_CPUS, count + self._reserve, free
        alike = [threads * len(self._with(threads)) for threads in range(
            fewest, max(map(len, self._host.free_cores), default=0) + 1)]
        most = max(alike, default=0)
        if most < count:
            return SIBLINGS, count, most
        # Before Train the emulator's CPU comes from the same cores.
        return SIBLINGS, count + 1, count

    def _pin(self, cores, threads):
        if threads * len(cores) < len(self._cpus):
            return None
        chosen = itertools.chain.from_iterable(
            core[:threads] for core in cores)
        return dict(zip(self._cpus, chosen, strict=False))

    def _complete(self, pins, cores, whole=False):
        """Return the Pinning, or None without a CPU for the emulator.

        whole: whether the emulator's CPU needs a core without guest CPUs.
        """
        reserved = self._reserve_cpu(pins, cores, whole)
        if reserved is None:
            return None
        if self._log:
            usable = self._with(1)
            self._log(_PINS, usable, sorted(pins.items()))
            if reserved:
                self._log(_RESERVED, usable, sorted(reserved))
        return Pinning(pins, reserved)

    def _reserve_cpu(self, pins, cores, whole):
        if not self._reserve:
            return frozenset()
        taken = set(pins.values())
        for core in cores:
            if whole and taken.intersection(core):
                continue
            for cpu in core:
                if cpu not in taken:
                    return frozenset((cpu,))
        return None
