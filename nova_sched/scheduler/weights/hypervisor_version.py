"""HypervisorVersionWeigher: the newer the hypervisor, the better."""

import numpy as np

from nova_sched.scheduler import weights


class HypervisorVersionWeigher(weights.ColumnWeigher):
    """The version as one number, such as 8002000; unreported counts as 0.

    Versions of different hypervisors are compared all the same.
    """

    multiplier_name = 'hypervisor_version_weight_multiplier'

    def column(self, hosts, spec_obj):
        return hosts.judge('hypervisor_version',
                           lambda version: version or 0, np.float64)
