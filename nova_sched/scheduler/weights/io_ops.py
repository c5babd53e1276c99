"""IoOpsWeigher: the fewer instances being built or moved, the better."""

from nova_sched.scheduler import weights


class IoOpsWeigher(weights.ColumnWeigher):
    """Instances that are building, resizing, migrating and the like.

    The default multiplier is negative, so that quiet hosts win.
    """

    minval = 0
    multiplier_name = 'io_ops_weight_multiplier'
    inputs = ('num_io_ops',)

    def column(self, hosts, spec_obj):
        return hosts.num_io_ops
