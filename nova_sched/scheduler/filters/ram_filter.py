"""RamFilter: enough memory, with overcommit."""

from oslo_log import log as logging

from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class RamFilter(filters.ColumnFilter):
    """Hosts whose free RAM, after overcommit, holds the flavor.

    The host's ``ram_allocation_ratio`` multiplies its memory for all
    instances together; one alone must fit into what is really there.
    """

    def _ratios(self, hosts):
        """Overcommit ratio of each host: float64 (n,)."""
        return hosts.ram_allocation_ratio

    def _limit(self, hosts):
        """Memory to give out in all, in MiB: float64 (n,)."""
        return hosts.total_usable_ram_mb * self._ratios(hosts)

    def _usable(self, hosts):
        """Memory still to give out, in MiB: float64 (n,)."""
        # In Nova's order, so that floats round as they do there.
        return self._limit(hosts) - (
            hosts.total_usable_ram_mb - hosts.free_ram_mb)

    def mask(self, hosts, spec_obj):
        needed = spec_obj.memory_mb
        large = hosts.total_usable_ram_mb >= needed
        usable = self._usable(hosts)
        # Not ``usable >= needed``: a ratio of nan limits nothing.
        passes = large & ~(usable < needed)
        if LOG.isEnabledFor(logging.DEBUG):
            self._log(hosts, large, passes, usable, needed)
        return passes

    @staticmethod
    def _log(hosts, large, passes, usable, needed):
        for state in hosts.where(~large).states():
            LOG.debug('%(host)s does not have %(needed)s MB usable ram '
                      'before overcommit, it only has %(total)s MB.',
                      {'host': state, 'needed': needed,
                       'total': state.total_usable_ram_mb})
        full = large & ~passes
        for state, left in zip(hosts.where(full).states(),
                               usable[full].tolist(), strict=True):
            LOG.debug('%(host)s does not have %(needed)s MB usable ram, it '
                      'only has %(usable)s MB usable ram.',
                      {'host': state, 'needed': needed, 'usable': left})

    def limits(self, hosts, spec_obj):
        return {'memory_mb': int(self._limit(hosts)[0])}

    def reason(self, hosts, spec_obj):
        needed = spec_obj.memory_mb
        large = hosts.where(hosts.total_usable_ram_mb >= needed)
        if not len(large):
            largest = hosts.total_usable_ram_mb.max()
            return f'need {needed} MB, largest host {largest} MB'
        return (f'need {needed} MB, '
                f'most free {self._usable(large).max():.0f} MB')
