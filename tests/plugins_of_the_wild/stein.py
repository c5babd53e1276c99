"""Of Stein and later: a multiplier of each host, and bounds."""

from nova.scheduler import weights
from nova.scheduler.weights import ram


class MemoryWeigher(weights.BaseHostWeigher):
    """Free memory, of which a fixed range counts; aggregates turn it."""

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
    """As RAMWeigher for big instances, the other way round for others."""

    minval = None

    def weigh_objects(self, weighed_obj_list, weight_properties):
        found = super().weigh_objects(weighed_obj_list, weight_properties)
        if weight_properties.memory_mb >= 4096:
            return found
        return [-value for value in found]
