"""HypervisorVersionWeigher: prefers hosts with new hypervisors."""

from nova_sched.scheduler import weights


class HypervisorVersionWeigher(weights.ColumnWeigher):
    """Weighs the version, a number such as 8002000; unreported counts as 0.

    It compares versions even of different hypervisors.
    """

    multiplier_name = 'hypervisor_version_weight_multiplier'
    inputs = ('hypervisor_version',)

    def column(self, hosts, spec_obj):
        return hosts.derived('hypervisor_version', 'number', _number)


def _number(version):
    return version or 0
