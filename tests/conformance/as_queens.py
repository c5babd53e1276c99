"""Plug-ins that decide as Queens, where our answer is a newer Nova's.

They have the names of the built-ins and replace them.  A difference to a
recorded run is explained if it disappears with these plug-ins; see
``waivers/schedule.py``.
"""

import dataclasses
import re

import numpy as np

from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.scheduler import filters
from nova_sched.scheduler.filters import aggregate_multitenancy_isolation
from nova_sched.scheduler.filters import image_props_filter
from nova_sched.scheduler.weights import affinity
from nova_sched.scheduler.weights import compute
from nova_sched.scheduler.weights import disk
from nova_sched.scheduler.weights import io_ops
from nova_sched.scheduler.weights import metrics
from nova_sched.scheduler.weights import pci
from nova_sched.scheduler.weights import ram
from tests.conformance import as_raised


class _AsQueens:
    """Ignores multipliers of aggregates, and remembers the scale.

    Negative raw values count; the scale goes from the smallest to the
    largest value of all weighings so far.
    """

    def multipliers(self, hosts):
        return self.sign * self.multiplier

    def raw(self, hosts, spec_obj):
        raw = np.asarray(self.column(hosts, spec_obj), dtype=np.float64)
        self.minval = min(raw.min(), np.inf if self.minval is None
                          else self.minval)
        self.maxval = max(raw.max(), -np.inf if self.maxval is None
                          else self.maxval)
        return raw


class _BlindToPicks(_AsQueens):
    """Ignores earlier picks of the same request."""

    def column(self, hosts, spec_obj):
        known = hosts.snapshot.instances
        placed, known._placed = known._placed, {}
        try:
            return super().column(hosts, spec_obj)
        finally:
            known._placed = placed


class RAMWeigher(_AsQueens, ram.RAMWeigher):
    pass


class DiskWeigher(_AsQueens, disk.DiskWeigher):
    pass


class MetricsWeigher(_AsQueens, metrics.MetricsWeigher):
    pass


class IoOpsWeigher(_AsQueens, io_ops.IoOpsWeigher):
    pass


class PCIWeigher(_AsQueens, pci.PCIWeigher):
    pass


class ServerGroupSoftAffinityWeigher(
        _BlindToPicks, affinity.ServerGroupSoftAffinityWeigher):
    pass


class ServerGroupSoftAntiAffinityWeigher(
        _BlindToPicks, affinity.ServerGroupSoftAntiAffinityWeigher):
    pass


class BuildFailureWeigher(_AsQueens, compute.BuildFailureWeigher):
    pass


#: In the order in which Queens runs them.
WEIGHERS = (RAMWeigher, DiskWeigher, MetricsWeigher, IoOpsWeigher,
            PCIWeigher, ServerGroupSoftAffinityWeigher,
            ServerGroupSoftAntiAffinityWeigher, BuildFailureWeigher)


class AggregateMultiTenancyIsolation(
        aggregate_multitenancy_isolation.AggregateMultiTenancyIsolation):
    """Reads one key only."""

    def mask(self, hosts, spec_obj):
        def takes(aggregates):
            projects = aggregate_values.split_values(
                aggregates, 'filter_tenant_id')
            return not projects or spec_obj.project_id in projects
        return hosts.evaluate('aggregates', takes)


class ComputeCapabilitiesFilter(as_raised.ComputeCapabilitiesFilter):
    """Ignores hw:maxphysaddr_bits."""

    def mask(self, hosts, spec_obj):
        specs = dict(spec_obj.flavor.extra_specs or {})
        specs.pop('hw:maxphysaddr_bits', None)
        return super().mask(hosts, objects.RequestSpec(
            flavor=objects.Flavor(extra_specs=specs)))


class ImagePropertiesFilter(image_props_filter.ImagePropertiesFilter):
    """Cannot compare a hypervisor version of one number."""

    def mask(self, hosts, spec_obj):
        wanted = self._wanted(spec_obj)
        plain = dataclasses.replace(wanted, versions='', bits=0)

        def is_refused(supported, version):
            return 0 < (version or 0) < 1000 and plain.runs_on(supported)

        if wanted.versions and wanted.names and hosts.evaluate_together(
                ('supported_instances', 'hypervisor_version'),
                is_refused).any():
            raise ValueError('invalid version number')
        return super().mask(hosts, spec_obj)


class NUMATopologyFilter(as_raised.NUMATopologyFilter):
    """Also judges rebuilds."""

    RUN_ON_REBUILD = True


class SimpleCIDRAffinityFilter(as_raised.SimpleCIDRAffinityFilter):
    """Reads 10.0 as 10.0.0.0."""

    def mask(self, hosts, spec_obj):
        hints = dict(spec_obj.scheduler_hints or {})
        near = hints.get('build_near_host_ip')
        if near and re.fullmatch(r'\d+(\.\d+){0,2}', near[0]):
            hints['build_near_host_ip'] = [
                '.'.join((near[0].split('.') + ['0'] * 3)[:4]), *near[1:]]
        return super().mask(hosts, objects.RequestSpec(
            scheduler_hints=hints))


#: Newer feature -> the filter without it.
FILTERS = {
    'all keys that begin with filter_tenant_id':
        AggregateMultiTenancyIsolation,
    'extra spec hw:maxphysaddr_bits': ComputeCapabilitiesFilter,
    'hypervisor versions of one number compare': ImagePropertiesFilter,
    'NUMA is not judged on rebuilds': NUMATopologyFilter,
    'a shortened address is none': SimpleCIDRAffinityFilter}


def path(cls):
    """The dotted path of a plug-in in options."""
    return f'{cls.__module__}.{cls.__name__}'


def with_filters(options, classes):
    """Options of [filter_scheduler] with these filters as replacements."""
    available = options.get('available_filters',
                            [f'{filters.__name__}.all_filters'])
    return options | {'available_filters': [*available,
                                            *map(path, classes)]}


def with_weighers(options):
    """Options of [filter_scheduler] with Queens' weighers of the same names.

    Without weight_classes, all weighers of Queens.
    """
    named = {one.rsplit('.', 1)[-1] for one in options.get(
        'weight_classes', ())} or {cls.__name__ for cls in WEIGHERS}
    return options | {'weight_classes': [
        path(cls) for cls in WEIGHERS if cls.__name__ in named]}
