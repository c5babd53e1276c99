"""Stein and later: a multiplier a host, bounds, and traits."""

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from nova.scheduler import filters
from nova.scheduler import weights
from nova.scheduler.client import report
from nova.scheduler.weights import ram


class MemoryWeigher(weights.BaseHostWeigher):
    """Weighs free memory in a fixed range, with factors of aggregates."""

    minval = 0
    maxval = 16384

    def weight_multiplier(self, host_state):
        for aggregate in host_state.aggregates:
            if 'memory_factor' in aggregate.metadata:
                return float(aggregate.metadata['memory_factor'])
        return 1.0

    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


class FullestWeigher(ram.RAMWeigher):
    """RAMWeigher for big instances, with reversed weights for others."""

    minval = None

    def weigh_objects(self, weighed_obj_list, weight_properties):
        found = super().weigh_objects(weighed_obj_list, weight_properties)
        if weight_properties.memory_mb >= 4096:
            return found
        return [-value for value in found]


class TraitFilter(filters.BaseHostFilter):
    """Passes hosts with a trait on their provider or on an ancestor of it."""

    def __init__(self):
        self.client = report.SchedulerReportClient()

    def host_passes(self, host_state, spec_obj):
        uuid = host_state.uuid
        while uuid is not None:
            if self._has_trait(spec_obj._context, uuid):
                return True
            uuid = self.client._get_resource_provider(
                spec_obj._context, uuid)['parent_provider_uuid']
        return False

    def _has_trait(self, context, uuid):
        try:
            return 'CUSTOM_QUIET' in self.client.get_provider_traits(
                context, uuid).traits
        except (exception.ResourceProviderTraitRetrievalFailed,
                ks_exc.ClientException):
            return True
