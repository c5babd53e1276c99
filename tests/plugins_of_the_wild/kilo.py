"""Of Kilo: a built-in asked with a changed copy of the properties."""

import copy

from nova.scheduler import filters
from nova.scheduler.filters import ram_filter
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class HeadroomFilter(ram_filter.RamFilter):
    """As RamFilter, as if each instance took a tenth more."""

    def host_passes(self, host_state, filter_properties):
        properties = copy.deepcopy(filter_properties)
        properties['instance_type']['memory_mb'] += (
            properties['instance_type']['memory_mb'] // 10)
        return super(HeadroomFilter, self).host_passes(  # noqa: UP008
            host_state, properties)


class NotesFilter(filters.BaseHostFilter):
    """Passes, and notes in the properties which hosts it has seen."""

    def host_passes(self, host_state, filter_properties):
        filter_properties.setdefault('seen', []).append(host_state.host)
        return True


class SeenFilter(filters.BaseHostFilter):
    """All but the first host that NotesFilter has seen."""

    def host_passes(self, host_state, filter_properties):
        return host_state.host != filter_properties.get('seen', [None])[0]
