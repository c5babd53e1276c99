"""RAMWeigher: the more free memory, the better."""

from nova_sched.scheduler import weights


class RAMWeigher(weights.ColumnWeigher):
    """Free RAM in MiB; less than none counts as none."""

    minval = 0
    multiplier_name = 'ram_weight_multiplier'
    inputs = ('free_ram_mb',)

    def column(self, hosts, spec_obj):
        return hosts.free_ram_mb
