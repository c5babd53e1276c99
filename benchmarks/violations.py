"""Finds errors in answers, without the scheduler's own code."""

import collections
import typing

from benchmarks.asked import FAULT_DOMAIN

_GIB = 1024     # MiB


class Room(typing.NamedTuple):
    """The resources of a host for instances: CPUs, MiB, GiB.

    cells: (CPUs, MiB) of its NUMA cells, one or two; () if they do not
        matter.
    """

    vcpus: float
    memory_mb: float
    disk_gb: float
    cells: tuple = ()


def find(answers, rooms):
    """Return the errors in a sequence of Answer: a list of texts.

    rooms: {host: Room} of the allowed hosts.
    """
    return [text for answer in answers for text in _of_one(answer, rooms)] + [
        *_overfull(answers, rooms), *_broken_groups(answers)]


def _of_one(answer, rooms):
    asked, found = answer.asked, f'request {answer.asked.number}'
    if answer.hosts:
        if asked.outcome == 'refused':
            yield f'{found} is placed, and must be refused'
        if len(answer.hosts) != asked.count:
            yield (f'{found} asks for {asked.count} hosts and has '
                   f'{len(answer.hosts)}')
        for host in {*answer.hosts} - rooms.keys():
            yield f'{found} is on {host}, which takes no instances'
        return
    if asked.outcome == 'placed':
        yield f'{found} is refused: {answer.reason}'
    if not answer.reason or asked.reason not in answer.reason:
        yield (f'{found} is refused without the reason {asked.reason}: '
               f'{answer.reason}')


def _overfull(answers, rooms):
    """Yield overfull hosts, and hosts with overfull NUMA cells."""
    for host, guests in guests_by_host(answers).items():
        room = rooms.get(host)
        if room is None:
            continue
        for name in ('vcpus', 'memory_mb', 'root_gb'):
            given = sum(getattr(guest, name) for guest in guests)
            has = room.disk_gb if name == 'root_gb' else getattr(room, name)
            if given > has:
                yield f'{host} has {name} {has:g}, given are {given}'
        if room.cells and not fits_cells(guests, room.cells):
            yield (f'{host}: no way to put {len(guests)} instances on the '
                   f'NUMA cells {room.cells}')


def guests_by_host(answers):
    """Return {host: list of Asked, one for each instance on it}."""
    guests = collections.defaultdict(list)
    for answer in answers:
        for host in answer.hosts:
            guests[host].append(answer.asked)
    return guests


def fits_cells(guests, cells):
    """Return whether there is a way to put guests on one or two cells.

    guests: Asked with memory in whole GiB; one with two nodes has half of it
        on each cell.
    cells: list of (CPUs, MiB).
    """
    cpus, memory = (sum(getattr(guest, name) for guest in guests)
                    for name in ('vcpus', 'memory_mb'))
    halves = [guest for guest in guests if guest.numa_nodes == 2]
    if len(cells) == 1:
        return not halves and cpus <= cells[0][0] and memory <= cells[0][1]
    on_each = (sum(half.vcpus // 2 for half in halves),
               sum(half.memory_mb // 2 for half in halves))
    first, second = (
        (has_cpus - on_each[0], (has_memory - on_each[1]) // _GIB)
        for has_cpus, has_memory in cells)
    return _fits_two([(guest.vcpus, guest.memory_mb // _GIB)
                      for guest in guests if guest.numa_nodes < 2],
                     first, second)


def _fits_two(guests, first, second):
    """Return whether guests fit on two cells undivided; all (CPUs, GiB)."""
    all_cpus, all_memory = (sum(guest[side] for guest in guests)
                            for side in (0, 1))
    width = all_memory + 1
    # Bit (CPUs * width + GiB) is set if some guests have this sum.
    sums = 1
    for cpus, memory in guests:
        sums |= sums << (cpus * width + memory)
    least, most = max(0, all_memory - second[1]), min(all_memory, first[1])
    if least > most:
        return False
    wanted = (1 << most - least + 1) - 1
    return any(sums >> (cpus * width + least) & wanted
               for cpus in range(max(0, all_cpus - second[0]), first[0] + 1))


def _broken_groups(answers):
    groups = collections.defaultdict(list)
    for answer in answers:
        if answer.asked.group is not None:
            groups[answer.asked.policy, answer.asked.group] += [
                (host, answer.asked.domain) for host in answer.hosts]
    for (policy, group), members in groups.items():
        hosts = [host for host, _ in members]
        broken = {
            'affinity': len({*hosts}) > 1,
            'anti-affinity': len({*hosts}) < len(hosts),
            FAULT_DOMAIN: len({*members}) > len({*hosts})}[policy]
        if broken:
            yield f'group {group} breaks {policy}, it is on {sorted(hosts)}'


def miscounted(answers, used):
    """Return NUMA cells with another usage than the placed guests': texts.

    used: {host: [(CPUs, MiB) used of each cell]}, counted by the scheduler.
    """
    guests, wrong = guests_by_host(answers), []
    for host, cells in used.items():
        given = (sum(guest.vcpus for guest in guests.get(host, ())),
                 sum(guest.memory_mb for guest in guests.get(host, ())))
        counted = tuple(map(sum, zip(*cells, strict=True)))
        if counted != given:
            wrong.append(f'{host}: {counted} CPUs, MiB of its NUMA cells '
                         f'count as used, {given} are')
    return wrong
