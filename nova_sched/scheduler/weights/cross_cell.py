"""CrossCellWeigher: prefers hosts in the cell of the instance."""

import numpy as np

from nova_sched.scheduler import weights


class CrossCellWeigher(weights.ColumnWeigher):
    """Weighs hosts in the cell of the instance 1, and all others -1.

    0 for all hosts if the request names no cell, or must stay in its cell.
    """

    multiplier_name = 'cross_cell_move_weight_multiplier'
    inputs = ('cell_uuid',)

    def column(self, hosts, spec_obj):
        target = spec_obj.requested_destination
        if (target is None or target.cell is None
                or not target.allow_cross_cell_move):
            return np.zeros(len(hosts))
        return np.where(hosts.named('cell_uuid', [target.cell.uuid]), 1, -1)
