"""DiskFilter: enough disk, with overcommit."""

from oslo_log import log as logging

from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


def requested_mb(spec_obj):
    """Disk that an instance takes: root, ephemeral and swap, in MiB."""
    return ((spec_obj.root_gb + spec_obj.ephemeral_gb) * 1024
            + spec_obj.swap)


class DiskFilter(filters.ColumnFilter):
    """Hosts whose free disk, after overcommit, holds the flavor.

    The host's ``disk_allocation_ratio`` multiplies its disk for all instances
    together; one alone must fit into what is really there.
    """

    def _ratios(self, hosts):
        """Overcommit ratio of each host: float64 (n,)."""
        return hosts.disk_allocation_ratio

    def _limit(self, hosts):
        """Disk to give out in all, in MiB: float64 (n,)."""
        return hosts.total_usable_disk_gb * 1024 * self._ratios(hosts)

    def _usable(self, hosts):
        """Disk still to give out, in MiB: float64 (n,)."""
        return self._limit(hosts) - (
            hosts.total_usable_disk_gb * 1024 - hosts.free_disk_mb)

    def mask(self, hosts, spec_obj):
        needed = requested_mb(spec_obj)
        large = hosts.total_usable_disk_gb * 1024 >= needed
        usable = self._usable(hosts)
        # Not ``usable >= needed``: a ratio of nan limits nothing.
        passes = large & ~(usable < needed)
        if LOG.isEnabledFor(logging.DEBUG):
            self._log(hosts, large, passes, usable, needed)
        return passes

    @staticmethod
    def _log(hosts, large, passes, usable, needed):
        for state in hosts.where(~large).states():
            LOG.debug('%(host)s does not have %(needed)s MB usable disk space '
                      'before overcommit, it only has %(total)s MB.',
                      {'host': state, 'needed': needed,
                       'total': state.total_usable_disk_gb * 1024})
        full = large & ~passes
        for state, left in zip(hosts.where(full).states(),
                               usable[full].tolist(), strict=True):
            LOG.debug('%(host)s does not have %(needed)s MB usable disk, it '
                      'only has %(usable)s MB usable disk.',
                      {'host': state, 'needed': needed, 'usable': left})

    def limits(self, hosts, spec_obj):
        return {'disk_gb': int(self._limit(hosts)[0] / 1024)}

    def reason(self, hosts, spec_obj):
        needed = requested_mb(spec_obj)
        totals = hosts.total_usable_disk_gb * 1024
        large = hosts.where(totals >= needed)
        if not len(large):
            return f'need {needed} MB, largest host {totals.max()} MB'
        return (f'need {needed} MB, '
                f'most free {self._usable(large).max():.0f} MB')
