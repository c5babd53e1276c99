"""ExactCoreFilter: bare metal with exactly the right CPUs."""

import numpy as np

from nova_sched.rules import amounts


class ExactCoreFilter(amounts.BaseExactFilter):
    """Hosts whose free CPUs are exactly the flavor's.

    Hosts that report no CPUs at all are rejected.
    """

    code = 'vcpus'
    resource = amounts.CPUS
    inputs = 'vcpus_total', 'vcpus_used'

    def mask(self, hosts, spec_obj):
        return ~amounts.without_cpus(hosts) & super().mask(hosts, spec_obj)

    def figures(self, hosts, spec_obj):
        figure, = super().figures(hosts, spec_obj)
        figure.have[hosts.vcpus_total == 0] = np.nan
        return [figure]

    def nearest(self, hosts, needed):
        reporting = hosts.where(hosts.vcpus_total != 0)
        return (super().nearest(reporting, needed) if len(reporting)
                else 'none reported')
