"""Of Xena and later: rebuilds, and candidates of Placement."""

from nova.scheduler import filters


class SupportedImageFilter(filters.BaseHostFilter):
    """Hosts that their aggregates do not keep from an image's system."""

    RUN_ON_REBUILD = True

    def host_passes(self, host_state, spec_obj):
        system = spec_obj.image.properties.get('os_distro')
        return not any(
            system in aggregate.metadata.get('no_systems', '').split(',')
            for aggregate in host_state.aggregates)


class NicFilter(filters.BaseHostFilter, filters.CandidateFilterMixin):
    """Keeps the ways to place an instance that a hint does not exclude."""

    def host_passes(self, host_state, spec_obj):
        unwanted = spec_obj.get_scheduler_hint('not_nic')
        return bool(self.filter_candidates(
            host_state, lambda candidate: unwanted not in (
                candidate['mappings'].get('nic') or ())))
