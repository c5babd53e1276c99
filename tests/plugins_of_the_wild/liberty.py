"""Liberty: filters with Nova's base classes for ratios."""

from nova.i18n import _LW
from nova.scheduler.filters import core_filter
from nova.scheduler.filters import ram_filter
from nova.scheduler.filters import utils
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class RackRamFilter(ram_filter.BaseRamFilter):
    """RamFilter with a ratio by the host's rack."""

    def _get_ram_allocation_ratio(self, host_state, filter_properties):
        ratios = utils.aggregate_values_from_key(host_state, 'rack_ratio')
        try:
            return utils.validate_num_values(
                ratios, host_state.ram_allocation_ratio, cast_to=float)
        except ValueError as e:
            LOG.warning(_LW("Bad rack_ratio: '%s'"), e)
            return host_state.ram_allocation_ratio


class PaidCoreFilter(core_filter.BaseCoreFilter):
    """CoreFilter without overcommit for paid flavors."""

    def _get_cpu_allocation_ratio(self, host_state, filter_properties):
        flavor = filter_properties.get('instance_type')
        return 1.0 if flavor['extra_specs'].get('paid') else 16.0
