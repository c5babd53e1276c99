"""CrossCellWeigher: an instance that may change cells had better not."""

import numpy as np

from nova_sched.scheduler import weights


class CrossCellWeigher(weights.ColumnWeigher):
    """1 for hosts in the cell of the instance, -1 for those in others.

    0 for every host when the request names no cell, or must stay in it.
    """

    multiplier_name = 'cross_cell_move_weight_multiplier'
    inputs = ('cell_uuid',)

    def column(self, hosts, spec_obj):
        wanted = spec_obj.requested_destination
        if (wanted is None or wanted.cell is None
                or not wanted.allow_cross_cell_move):
            return np.zeros(len(hosts))
        return np.where(hosts.named('cell_uuid', [wanted.cell.uuid]), 1, -1)
