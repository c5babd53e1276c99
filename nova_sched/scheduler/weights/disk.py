"""DiskWeigher: the more free disk, the better."""

from nova_sched.scheduler import weights


class DiskWeigher(weights.ColumnWeigher):
    """Free disk in MiB; less than none counts as none."""

    minval = 0
    multiplier_name = 'disk_weight_multiplier'
    inputs = ('free_disk_mb',)

    def column(self, hosts, spec_obj):
        return hosts.free_disk_mb
