"""CoreFilter: enough virtual CPUs, with overcommit."""

from nova_sched.scheduler.filters import amounts


class CoreFilter(amounts.BaseCapacityFilter):
    """Hosts with enough free virtual CPUs, after overcommit.

    The host's ``cpu_allocation_ratio`` multiplies its CPUs for all instances
    together; a single instance must not exceed the physical CPUs.  Hosts that
    report no CPUs pass.
    """

    code = 'vcpus'
    resource = amounts.CPUS
    key = 'cpu_allocation_ratio'
    inputs = 'vcpus_total', 'vcpus_used', key
    too_small = ('%(host)s does not have %(needed)s total cpus before '
                 'overcommit, it only has %(total)s')
    too_full = ('%(host)s does not have %(needed)s usable vcpus, it only has '
                '%(usable)s usable vcpus')

    def _large(self, total, limit, needed):
        return ~((limit > 0) & (needed > total))

    def _holds(self, usable, needed):
        # With a ratio of nan hosts pass, unlike for RAM and disk.
        return ~(usable < needed)

    def _exempt(self, hosts):
        return amounts.without_cpus(hosts)

    def limits(self, hosts, spec_obj):
        if not self._limit(hosts, spec_obj)[0] > 0:
            return {}
        return super().limits(hosts, spec_obj)


#: Nova's base class of plug-ins that compute the ratio themselves.
BaseCoreFilter = CoreFilter


class AggregateCoreFilter(amounts.PerAggregate, CoreFilter):
    """CoreFilter with ratios that aggregates may set."""

    inputs = *CoreFilter.inputs, 'aggregates'
