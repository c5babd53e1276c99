"""How many instances of a request each host takes, one after the other.

The number of a host is that of a scheduler that gets the same request for one
instance again and again, until it refuses the host:

1. The rules judge the host, and an instance consumes its resources
   (``HostSnapshot.consume``), in turn.
2. Rules do not depend on each other's verdict, so each rule has a number of
   its own, and the smallest counts.

``InstanceCounter`` finds the number of a rule

* by one verdict, if an instance on the host does not change it;
* by bisection, if the rule compares amounts: once refused, always refused;
* by quotients of cells, CPUs and memory, for most NUMA topologies
  (``numa.guest_counts``);
* else by placing one instance after the other (``_trial``), at once for hosts
  that are equal for the request.

A number is a bound if a verdict may depend on other hosts: ``inexact`` names
such rules.
"""

import dataclasses
import functools
import typing

import numpy as np
from oslo_utils import uuidutils

from nova_sched import filters
from nova_sched.hardware import consumption
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa.guest_counts import UNKNOWN
from nova_sched.hardware.numa.guest_counts import UNLIMITED
from nova_sched.hardware.numa.guest_counts import HostCells
from nova_sched.hosts import snapshot
from nova_sched.objects import base
from nova_sched.rules import limits
from nova_sched.rules import narrowing
from nova_sched.rules import rule_inputs

#: Maximum number of instances on one host that a bisection and a trial find.
MOST, MOST_TRIED = 1 << 20, 10_000

#: Amounts that a rule may compare.
_AMOUNTS = frozenset(('free_ram_mb', 'free_disk_mb', 'vcpus_used',
                      'num_instances', 'num_io_ops'))
_HARDWARE_COLUMNS = frozenset(consumption.COLUMNS)
#: Columns with which a host's hardware is judged.
_JUDGED_BY = (*consumption.COLUMNS, 'cpu_allocation_ratio',
              'ram_allocation_ratio')


#: How an instance on a host may change a verdict: not, by its cells and
#: devices, by an amount that the rule compares, or in any way.
_FIXED, _HARDWARE, _AMOUNT, _ANY = 'fixed', 'hardware', 'amount', 'any'


class RuleCounts(typing.NamedTuple):
    """The numbers of one rule: name, and int64 (n,); UNLIMITED for no limit.
    """

    name: str
    counts: np.ndarray


@dataclasses.dataclass(frozen=True)
class InstanceCounts:
    """How many instances of a request each host takes.

    hosts: HostBlock of n hosts.
    by_rule: RuleCounts of each step and filter that ran, in order.
    inexact: name of a rule -> why its numbers are a bound only.
    """

    hosts: object
    by_rule: list
    inexact: dict

    @property
    def counts(self):
        """The numbers: int64 (n,); UNLIMITED where no rule has a limit."""
        return np.minimum.reduce([
            np.full(len(self.hosts), UNLIMITED, np.int64),
            *(rule.counts for rule in self.by_rule)])

    def limiting(self):
        """Return the index in ``by_rule`` of each host's limit: int (n,).

        The first of several; -1 without a limit.
        """
        if not self.by_rule:
            return np.full(len(self.hosts), -1)
        table = np.array([rule.counts for rule in self.by_rule])
        return np.where(table.min(axis=0) < UNLIMITED, table.argmin(axis=0),
                        -1)


class InstanceCounter:
    """Counts the instances that the hosts of one state take.

    filters_: the enabled filters.
    hosts: HostBlock, without allocation candidates.
    plug_ins: the enabled filters that are plug-ins; they are tried.
    """

    def __init__(self, filters_, hosts, plug_ins=()):
        self._filters, self._hosts = filters_, hosts
        self._plug_ins = plug_ins

    def count(self, spec_obj, others=()):
        """Return the InstanceCounts of a RequestSpec for one instance.

        others: RuleCounts of other rules, such as those of Placement.
        Raises the errors of rules, such as InvalidInput.
        """
        hosts, counts = self._hosts, InstanceCounts(self._hosts, [*others], {})
        for name, passing in narrowing.applicable(hosts, spec_obj):
            counts.by_rule.append(RuleCounts(name, _unlimited(
                np.isin(hosts.rows, passing.rows))))
        hardware, tried = [], []
        for rule in () if narrowing.is_forced(spec_obj) else self._filters:
            kind = (_ANY if rule in self._plug_ins
                    else _kind(rule, spec_obj))
            if kind == _HARDWARE:
                hardware.append(rule)
            elif kind == _FIXED:
                counts.by_rule.append(_fixed(rule, hosts, spec_obj))
            elif kind == _AMOUNT:
                counts.by_rule.append(_bisected(rule, hosts, spec_obj))
            else:
                tried.append(rule)
                counts.inexact.update(_inexact(rule, spec_obj))
        if hardware:
            counts.by_rule.extend(self._of_hardware(
                hardware, spec_obj, counts.counts))
        if tried:
            counts.by_rule.extend(self._tried(tried, spec_obj, counts.counts))
        return counts

    def _of_hardware(self, rules, spec_obj, most):
        """Return the RuleCounts of filters on cells and devices: list.

        most: numbers by other rules: int64 (n,).
        """
        hosts, by_rule = self._hosts, []
        required = numa_guest.GuestRequirements.of(spec_obj)
        numa = [rule for rule in rules if 'numa_topology' in rule.inputs]
        if required is not None and numa:
            known = self._cells.count(required, hosts.cpu_allocation_ratio,
                                      hosts.ram_allocation_ratio)
            if known is not None:
                is_known = known != UNKNOWN
                by_rule.append(RuleCounts(
                    type(numa[0]).__name__,
                    np.where(is_known, known, UNLIMITED)))
                most = np.where(is_known, 0, most)
        if not most.any():
            return by_rule
        # One host of each kind is tried.
        names = ('pci_stats',) if required is None else _JUDGED_BY
        first, kind = hosts.kinds(names)
        highest = np.zeros(len(first), np.int64)
        np.maximum.at(highest, kind, most)
        trial = _Trial(hosts.snapshot, hosts.rows[first], spec_obj, rules)
        # Pools differ less than cells, so they are judged first.
        rules = sorted(rules, key=numa.__contains__)
        return by_rule + [RuleCounts(name, counts[kind]) for name, counts
                          in trial.run(rules, highest, trial.take_hardware)]

    @functools.cached_property
    def _cells(self):
        """The HostCells of all hosts."""
        return HostCells(self._hosts.objects('numa_topology'))

    def _tried(self, rules, spec_obj, most):
        trial = _Trial(self._hosts.snapshot, self._hosts.rows, spec_obj,
                       self._filters)
        return trial.run(rules, most, trial.take_all)


class _Trial:
    """Placement of instances on each host, as if it were the only one.

    snapshot: HostSnapshot, which is copied.  rows: of the hosts, int (n,).
    limiters: filters that set limits for the compute node.
    """

    def __init__(self, hosts, rows, spec_obj, limiters):
        self._hosts, self._rows, self._spec_obj = hosts.copy(), rows, spec_obj
        for rule in limiters:
            if 'numa_topology' in (rule.inputs or ()):
                filters.note_filter_with_limits(self._hosts, rule, spec_obj)

    def run(self, rules, most, take):
        """Return the RuleCounts of filters: list.

        most: maximum number for each host: int64 (n,).
        take: function that consumes an instance's resources on a row;
            returns whether that may change a verdict.
        """
        count = np.zeros(len(self._rows), np.int64)
        most = np.minimum(most, MOST_TRIED)
        by_rule = [RuleCounts(type(rule).__name__,
                              np.full(len(count), UNLIMITED))
                   for rule in rules]
        running = np.flatnonzero(most > 0)
        while len(running):
            for rule, (_, counts) in zip(rules, by_rule, strict=True):
                passes = _verdicts(rule, self._hosts.block(
                    self._rows[running]), self._spec_obj)
                refused = running[~passes]
                counts[refused] = count[refused]
                running = running[passes]
            count[running] += 1
            running = running[count[running] < most[running]]
            running = running[[take(row) for row
                               in self._rows[running].tolist()]]
        return by_rule

    def take_hardware(self, row):
        """Consume an instance's cells and devices; return if any changed."""
        before = [self._hosts.value(name, row) for name in consumption.COLUMNS]
        self._hosts.consume_hardware(
            row, base.clone(self._spec_obj), self._hosts.moment, None,
            limits.of_row(self._hosts, row))
        return before != [self._hosts.value(name, row)
                          for name in consumption.COLUMNS]

    def take_all(self, row):
        """Consume all resources of an instance; return True."""
        spec_obj = base.clone(self._spec_obj)
        self._hosts.consume(row, spec_obj, self._hosts.moment, None,
                            limits.of_row(self._hosts, row))
        self._hosts.instances.place(
            uuidutils.generate_uuid(), self._hosts.value('host', row),
            spec_obj.flavor)
        return True


def _kind(rule, spec_obj):
    """Return how an instance on a host may change a filter's verdict on it."""
    if rule.inputs_for(spec_obj) is None:
        return _ANY
    changed = rule_inputs.changed_inputs(rule, spec_obj)
    takes_hardware = spec_obj.numa_topology is not None or bool(
        numa_guest.pci_requests(spec_obj))
    if not takes_hardware:
        changed -= _HARDWARE_COLUMNS
    if not changed:
        return _FIXED
    if changed <= _HARDWARE_COLUMNS:
        return _HARDWARE
    # Where its hardware is lacking, an instance is no I/O operation.
    amounts = _AMOUNTS - {'num_io_ops'} if takes_hardware else _AMOUNTS
    compares = type(rule).figures is not filters.BaseFilter.figures
    return _AMOUNT if compares and changed <= amounts else _ANY


def _inexact(rule, spec_obj):
    """Return why the numbers of a filter are a bound: {name: reason}."""
    inputs = rule.inputs_for(spec_obj)
    if inputs is None:
        return {type(rule).__name__: 'does not declare its inputs'}
    if rule_inputs.OTHER_HOSTS in inputs:
        return {type(rule).__name__: 'depends on other hosts'}
    return {}


def _verdicts(rule, hosts, spec_obj):
    """Return which hosts pass a filter: bool (n,)."""
    passes = rule.keep(hosts, spec_obj) if len(hosts) else ()
    return (np.zeros(len(hosts), np.bool_) if passes is None
            else np.asarray(passes, np.bool_))


def _unlimited(passes):
    """Return UNLIMITED for hosts that pass, bool (n,), and 0 for others."""
    return np.where(passes, UNLIMITED, 0).astype(np.int64)


def _fixed(rule, hosts, spec_obj):
    return RuleCounts(type(rule).__name__,
                      _unlimited(_verdicts(rule, hosts, spec_obj)))


def _bisected(rule, hosts, spec_obj):
    """Return the RuleCounts of a filter that compares amounts."""
    # An exact amount is refused at first, and met later.
    low = _verdicts(rule, hosts, spec_obj).astype(np.int64)
    high = low * MOST
    while (low < high).any():
        middle = (low + high + 1) // 2
        passes = _verdicts(rule, _holding(hosts, spec_obj, middle - 1),
                           spec_obj)
        low, high = (np.where(passes, middle, low),
                     np.where(passes, high, middle - 1))
    return RuleCounts(type(rule).__name__,
                      np.where(low == MOST, UNLIMITED, low))


def _holding(hosts, spec_obj, count):
    """Return the hosts with a number of instances more: HostBlock.

    count: int64 (n,).
    """
    amounts = {
        name: getattr(hosts, name) + count * amount for name, amount
        in {**snapshot.consumed(spec_obj), 'num_io_ops': 1}.items()}
    if hosts.bare_metal.any():
        # The first instance takes all of a bare-metal node.
        is_taken = hosts.bare_metal & (count > 0)
        for name in amounts:
            amounts[name] = np.where(hosts.bare_metal, getattr(hosts, name),
                                     amounts[name])
        for name, value in (('free_ram_mb', 0), ('free_disk_mb', 0),
                            ('vcpus_used', hosts.vcpus_total)):
            amounts[name] = np.where(is_taken, value, amounts[name])
    return hosts.replaced(amounts)
