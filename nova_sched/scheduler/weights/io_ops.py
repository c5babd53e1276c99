"""IoOpsWeigher: prefers hosts where few instances are built or moved."""

from nova_sched.scheduler import weights


class IoOpsWeigher(weights.BaseInputWeigher):
    """Weighs the instances that are building, resizing, migrating and so on.

    The default multiplier is negative, so that idle hosts are preferred.
    """

    minval = 0
    multiplier_name = 'io_ops_weight_multiplier'
    inputs = ('num_io_ops',)
