"""Xena and later: rebuilds, and allocation candidates."""

from nova.scheduler import filters


class SupportedImageFilter(filters.BaseHostFilter):
    """Passes hosts unless an aggregate excludes the image's system."""

    RUN_ON_REBUILD = True

    def host_passes(self, host_state, spec_obj):
        system = spec_obj.image.properties.get('os_distro')
        return not any(
            system in aggregate.metadata.get('no_systems', '').split(',')
            for aggregate in host_state.aggregates)


class NicFilter(filters.BaseHostFilter, filters.CandidateFilterMixin):
    """Keeps candidates that a hint does not exclude."""

    def host_passes(self, host_state, spec_obj):
        unwanted = spec_obj.get_scheduler_hint('not_nic')
        return bool(self.filter_candidates(
            host_state, lambda candidate: unwanted not in (
                candidate['mappings'].get('nic') or ())))
