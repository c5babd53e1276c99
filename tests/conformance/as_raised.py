"""Plug-ins that raise like Nova, on input that the specification tolerates,
or that reject hosts for which we have a default.

They have the names of the built-ins and replace them.  A recorded error is
explained if these plug-ins raise and the built-in does not; see
``waivers/schedule.py``.
"""

import dataclasses

import numpy as np

from nova_sched import objects
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.scheduler import weights
from nova_sched.scheduler.filters import affinity_filter
from nova_sched.scheduler.filters import aggregate_instance_extra_specs
from nova_sched.scheduler.filters import compute_capabilities_filter
from nova_sched.scheduler.filters import disk_filter
from nova_sched.scheduler.filters import image_props_filter
from nova_sched.scheduler.filters import json_filter
from nova_sched.scheduler.filters import metrics_filter
from nova_sched.scheduler.filters import numa_topology_filter
from nova_sched.scheduler.filters import ram_filter


def _silent(hosts):
    """Hosts that never reported their usage: bool (n,)."""
    return hosts.evaluate('uuid', lambda uuid: uuid is None)


class MetricsFilter(metrics_filter.MetricsFilter):
    """Reads the missing metrics of a host that never reported."""

    def mask(self, hosts, spec_obj):
        if _silent(hosts).any():
            raise TypeError('no list of metrics')
        return super().mask(hosts, spec_obj)


class _WithoutRatio:
    """Multiplies the missing ratio of a host that never reported."""

    #: The aggregates' key for the ratio, or None.
    aggregate_key = None

    def mask(self, hosts, spec_obj):
        # Nova reaches the ratio only if the request needs none of it.
        reached = (self.resource.total(hosts)
                   >= self.resource.needed(spec_obj))
        for state in hosts.where(_silent(hosts) & reached).states():
            if aggregate_values.number(
                    aggregate_values.values(state.aggregates,
                                            self.aggregate_key),
                    self.aggregate_key, None, float) is None:
                raise TypeError('no ratio')
        return super().mask(hosts, spec_obj)


class RamFilter(_WithoutRatio, ram_filter.RamFilter):
    pass


class AggregateRamFilter(_WithoutRatio, ram_filter.AggregateRamFilter):
    aggregate_key = ram_filter.AggregateRamFilter.key


class DiskFilter(_WithoutRatio, disk_filter.DiskFilter):
    pass


class AggregateDiskFilter(_WithoutRatio, disk_filter.AggregateDiskFilter):
    aggregate_key = disk_filter.AggregateDiskFilter.key


class SimpleCIDRAffinityFilter(affinity_filter.SimpleCIDRAffinityFilter):
    """Parses the missing address of a host."""

    def mask(self, hosts, spec_obj):
        if spec_obj.get_scheduler_hint('build_near_host_ip') and (
                hosts.evaluate(
                    'host_ip', lambda host_ip: host_ip is None).any()):
            raise TypeError('no address')
        return super().mask(hosts, spec_obj)


class NUMATopologyFilter(numa_topology_filter.NUMATopologyFilter):
    """Reads properties of a missing image."""

    def mask(self, hosts, spec_obj):
        if spec_obj.image is None and len(hosts):
            raise AttributeError('no image')
        return super().mask(hosts, spec_obj)


class ImagePropertiesFilter(image_props_filter.ImagePropertiesFilter):
    """Reads address bits from a JSON text instead of a dict."""

    def mask(self, hosts, spec_obj):
        wanted = self._wanted(spec_obj)
        plain = dataclasses.replace(wanted, bits=0)
        if wanted.bits and wanted.names and hosts.evaluate_together(
                plain.columns(), plain.runs_on).any():
            raise AttributeError('no maxphysaddr in text')
        return super().mask(hosts, spec_obj)


class AggregateInstanceExtraSpecsFilter(
        aggregate_instance_extra_specs.AggregateInstanceExtraSpecsFilter):
    """Raises at the first extra spec that cannot be compared."""

    def mask(self, hosts, spec_obj):
        for state in hosts.states():
            for key, required in (
                    aggregate_instance_extra_specs.requirements(spec_obj)):
                if not aggregate_instance_extra_specs._meets(
                        key, aggregate_values.split_values(
                            state.aggregates, key), required):
                    break
        return super().mask(hosts, spec_obj)


#: Values that we fill in for a host that never reported.
_FILLED_IN = ('cpu_allocation_ratio', 'ram_allocation_ratio',
              'disk_allocation_ratio', 'hypervisor_hostname')


class ComputeCapabilitiesFilter(
        compute_capabilities_filter.ComputeCapabilitiesFilter):
    """Finds no ratio and no node name of a host that never reported."""

    def mask(self, hosts, spec_obj):
        passes = super().mask(hosts, spec_obj)
        if any(path[0] in _FILLED_IN for path, _required, _scoped
               in compute_capabilities_filter.requirements(spec_obj)):
            passes &= ~_silent(hosts)
        return passes


class JsonFilter(json_filter.JsonFilter):
    """Finds no ratio and no node name of a host that never reported."""

    def mask(self, hosts, spec_obj):
        passes, silent = super().mask(hosts, spec_obj), _silent(hosts)
        query = spec_obj.get_scheduler_hint('query')
        if query and silent.any():
            for name in _FILLED_IN:
                query = query.replace(f'"${name}"', 'null')
            passes[silent] = super().mask(
                hosts.where(silent), objects.RequestSpec(
                    scheduler_hints={'query': [query]}))
        return passes


class NeverReportedWeigher(weights.ColumnWeigher):
    """Raises like Nova's CPUWeigher on a host that never reported."""

    def configure(self, conf):
        self.multiplier = 0.0

    def column(self, hosts, spec_obj):
        if _silent(hosts).any():
            raise TypeError('no ratio')
        return np.zeros(len(hosts))

    def multipliers(self, hosts):
        return 0.0


UNREPORTED = 'a host that never reported its usage'

#: (cause of an error of Nova, the filter that raises it).
FILTERS = (
    (UNREPORTED, MetricsFilter),
    (UNREPORTED, RamFilter), (UNREPORTED, AggregateRamFilter),
    (UNREPORTED, DiskFilter), (UNREPORTED, AggregateDiskFilter),
    ('a host without an address', SimpleCIDRAffinityFilter),
    ('a request without an image', NUMATopologyFilter),
    ('hw_maxphysaddr_bits of an image', ImagePropertiesFilter))

#: Filters that miss values of such a host.
SILENT_FILTERS = (ComputeCapabilitiesFilter, JsonFilter)
