"""ExactCoreFilter: bare metal with exactly the right CPUs."""

import numpy as np

from nova_sched.rules import amounts


class ExactCoreFilter(amounts.BaseExactFilter):
    """Hosts whose free CPUs are exactly the flavor's.

    Hosts that report no CPUs at all are rejected, unless none are asked for.
    """

    code = 'vcpus'
    resource = amounts.CPUS
    inputs = 'vcpus_total', 'vcpus_used'

    def mask(self, hosts, spec_obj):
        if self.resource.needed(spec_obj) is None:
            return np.ones(len(hosts), dtype=np.bool_)
        return ~amounts.without_cpus(hosts) & super().mask(hosts, spec_obj)

    def figures(self, hosts, spec_obj):
        found = super().figures(hosts, spec_obj)
        for figure in found:
            figure.have[hosts.vcpus_total == 0] = np.nan
        return found

    def nearest(self, hosts, needed):
        reporting = hosts.where(hosts.vcpus_total != 0)
        return (super().nearest(reporting, needed) if len(reporting)
                else 'none reported')
