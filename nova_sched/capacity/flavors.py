"""The capacity of the hosts for flavors: numbers, limits, stranded amounts."""

import copy
import dataclasses

import numpy as np

from nova_sched import context
from nova_sched.capacity.emptied import emptied
from nova_sched.capacity.providers import PlacementProviders
from nova_sched.hosts import snapshot
from nova_sched.plugins import classes
from nova_sched.rules import figures
from nova_sched.scheduler.instance_counts import UNLIMITED
from nova_sched.scheduler.instance_counts import InstanceCounter

RAM, CPU, DISK, DEVICES = 'RAM', 'CPU', 'disk', 'PCI devices'
#: Unit of each resource.
UNITS = {RAM: 'MB', CPU: 'VCPUs', DISK: 'MB', DEVICES: 'devices'}

#: Resource -> its class in Placement, and MB or VCPUs of a unit of the class.
_CLASSES = {RAM: ('MEMORY_MB', 1), CPU: ('VCPU', 1), DISK: ('DISK_GB', 1024)}
#: Resource -> column that an instance changes, and the sign of the change.
_CONSUMED = {RAM: ('free_ram_mb', -1), CPU: ('vcpus_used', 1),
             DISK: ('free_disk_mb', -1)}
#: Name of an amount in figures.Figure -> resource.
_NAMES = {'RAM': RAM, 'VCPUs': CPU, 'disk': DISK, DEVICES: DEVICES}

#: Rule -> the limit that it checks.
_LIMITS = {
    'NUMATopologyFilter': 'NUMA cells', 'PciPassthroughFilter': DEVICES,
    'ComputeFilter': 'service down or disabled',
    'Placement': 'other conditions of Placement',
    **{f'Placement {name}': resource
       for resource, (name, _) in _CLASSES.items()},
    'Placement PCPU': 'dedicated CPU',
    **{f'{kind}{name}Filter': what for kind in ('', 'Aggregate')
       for name, what in (('Ram', RAM), ('Core', CPU), ('Disk', DISK),
                          ('NumInstances', 'number of instances'),
                          ('IoOps', 'I/O operations'))}}


@dataclasses.dataclass(frozen=True)
class FlavorCapacity:
    """How many instances of one flavor the hosts take.

    name: of the flavor.
    counts: instances for each host: int64 (n,); UNLIMITED without a limit.
    limits: what limits each host, texts; '' without a limit.
    stranded: resource -> amount on each host that remains when no further
        instance fits: int64 (n,), in UNITS.
    inexact: name of a rule -> why the numbers are a bound only.
    """

    name: str
    counts: np.ndarray
    limits: list
    stranded: dict
    inexact: dict

    def with_hosts(self, other, rows):
        """Return the capacity of more hosts, which are rows of another one.

        other: FlavorCapacity of the same flavor.  rows: int (m,).
        """
        return dataclasses.replace(
            self, counts=np.append(self.counts, other.counts[rows]),
            limits=self.limits + [other.limits[row] for row in rows],
            stranded={resource: np.append(amounts,
                                          other.stranded[resource][rows])
                      for resource, amounts in self.stranded.items()})


class CloudCapacity:
    """The capacity of a cloud's hosts, whose state is read once.

    decider: dry_run.decider.Decider, started.
    progress: see PlacementProviders.

    hosts: HostBlock of all hosts.
    Raises DatabaseUnavailable, PlacementError, and InvalidInput for a driver
    without filters.
    """

    def __init__(self, decider, progress=lambda done, count: None):
        self._decider, self._caller = decider, context.RequestContext(
            is_admin=True)
        self._filters = decider.driver.ranker.filters
        self._providers = (None if decider.placement is None else
                           PlacementProviders(decider.placement, progress))
        self._use(decider.read_hosts())

    def _use(self, hosts):
        """Count on a HostSnapshot."""
        self.hosts = hosts.block()
        self._nodes = self.hosts.objects('uuid')
        self._counter = InstanceCounter(self._filters, self.hosts, [
            rule for rule in self._filters
            if not classes.is_built_in(type(rule))])

    def emptied(self):
        """Return the capacity of the same hosts without instances."""
        twin, hosts = copy.copy(self), self.hosts.snapshot
        twin._providers = self._providers and self._providers.emptied()
        twin._use(self._decider.snapshot(
            emptied(hosts.table), has_instances=False))
        return twin

    def of(self, name, spec_obj):
        """Return the FlavorCapacity for a request of one instance.

        Raises the errors of rules and request filters, such as InvalidInput
        and NoValidHost, and PlacementError.
        """
        spec_obj, queries = self._decider.queries(self._caller, spec_obj)
        inexact = {}
        others = () if queries is None else self._providers.count(
            queries, self._nodes, inexact)
        counted = self._counter.count(spec_obj, others)
        names = [_LIMITS.get(rule.name, rule.name)
                 for rule in counted.by_rule]
        return FlavorCapacity(
            name, counted.counts,
            ['' if index < 0 else names[index]
             for index in counted.limiting().tolist()],
            self._stranded(spec_obj, counted.counts),
            {**inexact, **counted.inexact})

    def _stranded(self, spec_obj, counts):
        free, taken = self._free(spec_obj), snapshot.consumed(spec_obj)
        stranded = {}
        for resource, amount in free.items():
            if resource == DEVICES:
                each = sum(request.count for request
                           in spec_obj.pci_requests.requests)
            else:
                column, sign = _CONSUMED[resource]
                each = sign * taken[column]
            used = np.where(counts < UNLIMITED, counts, 0) * each
            stranded[resource] = np.maximum(amount - used, 0)
        return stranded

    def _free(self, spec_obj):
        """Return the free amounts by the enabled rules: resource -> int64.

        The amount that Placement and all filters leave is free.
        """
        physical = {RAM: self.hosts.free_ram_mb, DISK: self.hosts.free_disk_mb,
                    CPU: self.hosts.vcpus_total - self.hosts.vcpus_used}
        free = {}
        if self._providers is not None:
            for resource, (name, unit) in _CLASSES.items():
                free[resource] = self._providers.free(name, self._nodes) * unit
        for rule in self._filters:
            for figure in rule.figures(self.hosts, spec_obj):
                resource = _NAMES.get(figure.what)
                if resource is None or figure.kind == figures.TOTAL:
                    continue
                have = np.where(np.isposinf(figure.have), physical.get(
                    resource, 0), figure.have).clip(0).astype(np.int64)
                # Requests for devices add up; other rules compare one amount.
                if resource not in free:
                    free[resource] = have
                elif resource == DEVICES:
                    free[resource] = free[resource] + have
                else:
                    free[resource] = np.minimum(free[resource], have)
        return {resource: amount.clip(0)
                for resource, amount in (physical | free).items()}
