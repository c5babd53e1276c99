"""CoreFilter: enough virtual CPUs, with overcommit."""

from oslo_log import log as logging

from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class CoreFilter(filters.ColumnFilter):
    """Hosts with enough virtual CPUs left, after overcommit.

    The host's ``cpu_allocation_ratio`` multiplies its CPUs for all instances
    together; one alone must fit into what is really there.  Hosts that report
    no CPUs at all pass.
    """

    def _ratios(self, hosts):
        """Overcommit ratio of each host: float64 (n,)."""
        return hosts.cpu_allocation_ratio

    def _limit(self, hosts):
        """Virtual CPUs to give out in all: float64 (n,)."""
        return hosts.vcpus_total * self._ratios(hosts)

    def mask(self, hosts, spec_obj):
        needed = spec_obj.vcpus
        unknown = hosts.vcpus_total == 0
        if unknown.any():
            LOG.warning('VCPUs not set; assuming CPU collection broken')
        limit = self._limit(hosts)
        large = ~((limit > 0) & (needed > hosts.vcpus_total))
        free = limit - hosts.vcpus_used
        # Not ``free >= needed``: a ratio of nan limits nothing.
        passes = unknown | (large & ~(free < needed))
        if LOG.isEnabledFor(logging.DEBUG):
            self._log(hosts, large, passes, free, needed)
        return passes

    @staticmethod
    def _log(hosts, large, passes, free, needed):
        for state in hosts.where(~large).states():
            LOG.debug('%(host)s does not have %(needed)s total cpus before '
                      'overcommit, it only has %(total)s',
                      {'host': state, 'needed': needed,
                       'total': state.vcpus_total})
        full = large & ~passes
        for state, left in zip(hosts.where(full).states(),
                               free[full].tolist(), strict=True):
            LOG.debug('%(host)s does not have %(needed)s usable vcpus, it '
                      'only has %(free)s usable vcpus',
                      {'host': state, 'needed': needed, 'free': left})

    def limits(self, hosts, spec_obj):
        limit = self._limit(hosts)[0]
        return {'vcpu': int(limit)} if limit > 0 else {}

    def reason(self, hosts, spec_obj):
        needed = spec_obj.vcpus
        large = hosts.where(hosts.vcpus_total >= needed)
        if not len(large):
            largest = hosts.vcpus_total.max()
            return f'need {needed} VCPUs, largest host {largest}'
        free = self._limit(large) - large.vcpus_used
        return f'need {needed} VCPUs, most free {free.max():g}'
