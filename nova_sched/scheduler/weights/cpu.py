"""CPUWeigher: the more free virtual CPUs, the better."""

from nova_sched.scheduler import weights


class CPUWeigher(weights.ColumnWeigher):
    """Free virtual CPUs after overcommit; less than none counts as none."""

    minval = 0
    multiplier_name = 'cpu_weight_multiplier'
    inputs = ('vcpus_total', 'cpu_allocation_ratio', 'vcpus_used')

    def column(self, hosts, spec_obj):
        return (hosts.vcpus_total * hosts.cpu_allocation_ratio
                - hosts.vcpus_used)
