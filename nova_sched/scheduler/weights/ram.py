"""RAMWeigher: prefers hosts with much free memory."""

from nova_sched.scheduler import weights


class RAMWeigher(weights.BaseInputWeigher):
    """Weighs the free RAM in MiB; negative counts as 0."""

    minval = 0
    multiplier_name = 'ram_weight_multiplier'
    inputs = ('free_ram_mb',)
