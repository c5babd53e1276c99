"""HypervisorVersionWeigher: the newer the hypervisor, the better."""

from nova_sched.scheduler import weights


class HypervisorVersionWeigher(weights.ColumnWeigher):
    """The version as one number, such as 8002000; unreported counts as 0.

    Versions of different hypervisors are compared all the same.
    """

    multiplier_name = 'hypervisor_version_weight_multiplier'
    inputs = ('hypervisor_version',)

    def column(self, hosts, spec_obj):
        return hosts.derived('hypervisor_version', 'number', _number)


def _number(version):
    return version or 0
