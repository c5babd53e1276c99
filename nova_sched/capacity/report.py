"""Capacity by group of hosts, for programs and for people."""

import collections
import dataclasses

import numpy as np

from nova_sched.capacity import flavors
from nova_sched.rules import aggregates
from nova_sched.scheduler.instance_counts import UNLIMITED

#: Version of the JSON object: the first number changes with incompatible
#: changes.
VERSION = '1.0'
ALL, ZONE, AGGREGATE, CELL, HOST = GROUPINGS = (
    'all', 'zone', 'aggregate', 'cell', 'host')

#: Cause of a remainder that is smaller than the need of one instance.
REMAINDER = 'less than one instance needs'


@dataclasses.dataclass(frozen=True)
class GroupCapacity:
    """The capacity of a group of hosts for one flavor.

    flavor, group: names.
    placeable: number of instances; None without a limit.
    hosts: number of hosts that take an instance, by name.
    empty: number of instances without the present ones, or None.
    without_worst: number of instances without the host that takes most.
    worst: name of that host, or None.
    limits: limit -> number of hosts that it limits, most hosts first.
    stranded: list of Stranded, the largest of each resource first.
    inexact: see FlavorCapacity.
    """

    flavor: str
    group: str
    placeable: int | None
    hosts: int
    empty: int | None
    without_worst: int | None
    worst: str | None
    limits: dict
    stranded: list
    inexact: dict

    def to_dict(self):
        """Return it as plain JSON: dict."""
        return {
            'flavor': self.flavor, 'group': self.group,
            'placeable': self.placeable, 'hosts': self.hosts,
            'empty_cloud': self.empty, 'worst_host': self.worst,
            'without_worst_host': self.without_worst,
            'limits': [{'limit': limit, 'hosts': hosts}
                       for limit, hosts in self.limits.items()],
            'stranded': [dataclasses.asdict(part) for part in self.stranded],
            'exact': not self.inexact,
            'inexact': [{'rule': rule, 'reason': reason}
                        for rule, reason in self.inexact.items()]}


@dataclasses.dataclass(frozen=True)
class Stranded:
    """A free amount that instances cannot use.

    resource: a key of flavors.UNITS.  amount: in its unit.  hosts: their
    number.  cause: the limit of these hosts, or REMAINDER.
    """

    resource: str
    amount: int
    unit: str
    hosts: int
    cause: str


def groups(hosts, by, zone):
    """Return the groups of hosts: name -> bool (n,), in order of names.

    hosts: HostBlock of n hosts.  by: one of GROUPINGS.
    zone: availability zone of hosts without a zone in their aggregates.
    A host may be in several zones and aggregates.
    """
    if by == ALL:
        return {ALL: np.ones(len(hosts), np.bool_)}
    if by in (HOST, CELL):
        column = hosts.objects('host' if by == HOST else 'cell_uuid')
        names = [{name or ''} for name in column]
    elif by == AGGREGATE:
        names = [{aggregate.name for aggregate in of_host}
                 for of_host in hosts.objects('aggregates')]
    else:
        names = [aggregates.split_values(of_host, 'availability_zone')
                 or {zone} for of_host in hosts.objects('aggregates')]
    return {name: np.array([name in of_host for of_host in names], np.bool_)
            for name in sorted(set().union(*names))}


def of_group(capacity, group, members, hosts, empty=None):
    """Return the GroupCapacity of some hosts.

    capacity: FlavorCapacity.  group: name.  members: bool (n,).
    hosts: names of n hosts.
    empty: FlavorCapacity of the same hosts without instances, or None.
    """
    counts = np.where(members, capacity.counts, 0)
    total = _total(counts)
    by_name = collections.Counter()
    for name, count in zip(hosts, counts.tolist(), strict=True):
        by_name[name] += count
    [(worst, most)] = by_name.most_common(1) or [(None, 0)]
    limits = collections.Counter(
        limit for limit, is_member in zip(capacity.limits, members.tolist(),
                                          strict=True)
        if is_member and limit)
    return GroupCapacity(
        capacity.name, group, total, sum(map(bool, by_name.values())),
        None if empty is None else _total(np.where(members, empty.counts, 0)),
        None if total is None else total - most, worst if most else None,
        dict(limits.most_common()), _stranded(capacity, members),
        capacity.inexact)


def _total(counts):
    """Return the sum of numbers of instances; None without a limit."""
    return None if (counts >= UNLIMITED).any() else int(counts.sum())


def _stranded(capacity, members):
    limits = np.array(capacity.limits, dtype=object)
    parts = []
    for resource, amounts in capacity.stranded.items():
        causes = np.where(limits == resource, REMAINDER, limits)
        of_resource = []
        for cause in dict.fromkeys(causes[members].tolist()):
            amounts_of = np.where(members & (causes == cause), amounts, 0)
            if cause and amounts_of.any():
                of_resource.append(Stranded(
                    resource, int(amounts_of.sum()), flavors.UNITS[resource],
                    int(np.count_nonzero(amounts_of)), cause))
        parts += sorted(of_resource, key=lambda part: -part.amount)
    return parts
