"""What filters leave the compute node to hold a placed instance to."""

import numpy as np


def note(snapshot, filter_, spec_obj):
    """Note on a HostSnapshot that a filter has judged hosts of it.

    A filter that did not look, as on a rebuild, leaves nothing to the compute
    node.
    """
    if filter_.RUN_ON_REBUILD or not spec_obj.is_rebuild:
        snapshot.judges[id(filter_)] = filter_, spec_obj


def of(snapshot, row):
    """Return the limits of the host in a row: limit name -> amount, a dict.

    The filters that judged hosts are asked.  What a filter of somebody else's
    wrote into the host state's own ``limits`` wins.
    """
    found, host = {}, snapshot.block(np.array([row]))
    for filter_, spec_obj in snapshot.judges.values():
        found |= filter_.limits(host, spec_obj)
    return found | snapshot.state(row).limits
