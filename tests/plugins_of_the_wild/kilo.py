"""Kilo: a built-in that is called with a changed copy of the properties."""

import copy

from nova.scheduler import filters
from nova.scheduler.filters import ram_filter
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class HeadroomFilter(ram_filter.RamFilter):
    """RamFilter with a tenth more memory for each instance."""

    def host_passes(self, host_state, filter_properties):
        properties = copy.deepcopy(filter_properties)
        properties['instance_type']['memory_mb'] += (
            properties['instance_type']['memory_mb'] // 10)
        return super(HeadroomFilter, self).host_passes(  # noqa: UP008
            host_state, properties)


class NotesFilter(filters.BaseHostFilter):
    """Passes all hosts, and writes their names to the properties."""

    def host_passes(self, host_state, filter_properties):
        filter_properties.setdefault('seen', []).append(host_state.host)
        return True


class SeenFilter(filters.BaseHostFilter):
    """Passes all hosts except the first of NotesFilter."""

    def host_passes(self, host_state, filter_properties):
        return host_state.host != filter_properties.get('seen', [None])[0]
