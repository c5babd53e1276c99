"""Queens: built-ins as base classes, and methods on all hosts at once."""

from nova.scheduler import filters
from nova.scheduler.filters import io_ops_filter
from nova.scheduler.filters import isolated_hosts_filter


class QuietHostsFilter(io_ops_filter.IoOpsFilter):
    """IoOpsFilter with a maximum from the flavor."""

    def _get_max_io_ops_per_host(self, host_state, spec_obj):
        specs = spec_obj.flavor.extra_specs
        return int(specs.get('quiet:io_ops', 100))


class AsIfPlainFilter(isolated_hosts_filter.IsolatedHostsFilter):
    """IsolatedHostsFilter without isolation of one project's images."""

    def host_passes(self, host_state, spec_obj):
        if spec_obj.project_id == 'trusted':
            spec_obj = spec_obj.obj_clone()
            spec_obj.image.id = 'some-other-image'
        return super().host_passes(host_state, spec_obj)


class EmptiestFilter(filters.BaseHostFilter):
    """Passes the two hosts with most free memory, for the first instance."""

    def run_filter_for_index(self, index):
        return index == 0

    def filter_all(self, filter_obj_list, spec_obj):
        return sorted(filter_obj_list,
                      key=lambda host: -host.free_ram_mb)[:2]
