"""CoreFilter: enough virtual CPUs, with overcommit."""

from nova_sched.rules import amounts


class CoreFilter(amounts.BaseCapacityFilter):
    """Hosts with enough virtual CPUs left, after overcommit.

    The host's ``cpu_allocation_ratio`` multiplies its CPUs for all instances
    together; one alone must fit into what is really there.  Hosts that report
    no CPUs at all pass.
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
        # Unlike RAM and disk, CPUs are not limited by a ratio of nan.
        return ~(usable < needed)

    def _exempt(self, hosts):
        return amounts.without_cpus(hosts)

    def limits(self, hosts, spec_obj):
        if not self._limit(hosts, spec_obj)[0] > 0:
            return {}
        return super().limits(hosts, spec_obj)


#: What plug-ins derive from that bring a ratio of their own.
BaseCoreFilter = CoreFilter


class AggregateCoreFilter(amounts.PerAggregate, CoreFilter):
    """CoreFilter with ratios that aggregates may set."""

    inputs = *CoreFilter.inputs, 'aggregates'
