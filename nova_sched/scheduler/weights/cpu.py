"""CPUWeigher: prefers hosts with many free virtual CPUs."""

from nova_sched.scheduler import weights


class CPUWeigher(weights.ColumnWeigher):
    """Weighs the free virtual CPUs after overcommit; negative counts as 0."""

    minval = 0
    multiplier_name = 'cpu_weight_multiplier'
    inputs = ('vcpus_total', 'cpu_allocation_ratio', 'vcpus_used')

    def column(self, hosts, spec_obj):
        return (hosts.vcpus_total * hosts.cpu_allocation_ratio
                - hosts.vcpus_used)
