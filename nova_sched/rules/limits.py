"""The limits on a host that the compute node checks again for an instance."""

import numpy as np


def of_row(snapshot, row):
    """Return the limits that the compute node checks: {name: amount}.

    snapshot: HostSnapshot.  row: row of the host.
    All filters that have judged hosts of the snapshot set limits.  Limits that
    a plug-in wrote into the host state take precedence.
    """
    limits, host = {}, snapshot.block(np.array([row]))
    for filter_, spec_obj in snapshot.filters_with_limits.values():
        limits |= filter_.limits(host, spec_obj)
    return limits | snapshot.own_limits(row)
