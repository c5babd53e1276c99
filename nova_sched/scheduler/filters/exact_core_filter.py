"""ExactCoreFilter: bare metal with exactly the flavor's CPUs."""

import numpy as np

from nova_sched.scheduler.filters import amounts


class ExactCoreFilter(amounts.BaseExactFilter):
    """Hosts with exactly the flavor's CPUs free.

    Hosts that report no CPUs are rejected, unless the flavor needs none.
    """

    code = 'vcpus'
    resource = amounts.CPUS
    inputs = 'vcpus_total', 'vcpus_used'

    def mask(self, hosts, spec_obj):
        if self.resource.needed(spec_obj) is None:
            return np.ones(len(hosts), dtype=np.bool_)
        return ~amounts.without_cpus(hosts) & super().mask(hosts, spec_obj)

    def figures(self, hosts, spec_obj):
        figures = super().figures(hosts, spec_obj)
        for figure in figures:
            figure.have[hosts.vcpus_total == 0] = np.nan
        return figures

    def nearest(self, hosts, needed):
        reporting = hosts.where(hosts.vcpus_total != 0)
        return (super().nearest(reporting, needed) if len(reporting)
                else 'none reported')
