"""DiskWeigher: prefers hosts with much free disk."""

from nova_sched.scheduler import weights


class DiskWeigher(weights.BaseInputWeigher):
    """Weighs the free disk in MiB; negative counts as 0."""

    minval = 0
    multiplier_name = 'disk_weight_multiplier'
    inputs = ('free_disk_mb',)
