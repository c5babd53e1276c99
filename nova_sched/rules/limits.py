"""What filters leave the compute node to hold a placed instance to."""

import numpy as np


class Limits:
    """The limits of one request's hosts: a function of a row.

    Asks the filters that judged hosts, if they have anything to say; those
    that did not look, as on a rebuild, leave nothing to the compute node.
    """

    def __init__(self, snapshot):
        self._snapshot, self._asked = snapshot, {}

    def ran(self, filter_, spec_obj):
        """A filter has judged hosts; it is asked from then on."""
        if filter_.RUN_ON_REBUILD or not spec_obj.is_rebuild:
            self._asked[id(filter_)] = filter_, spec_obj

    def __call__(self, row):
        """Limit name -> amount, of the host in a row: dict.

        What a filter wrote into a host state's own ``limits`` wins.
        """
        found, host = {}, self._snapshot.block(np.array([row]))
        for filter_, spec_obj in self._asked.values():
            found |= filter_.limits(host, spec_obj)
        return found | self._snapshot.state(row).limits


def of(snapshot):
    """The Limits of a HostSnapshot, made for it if it has none yet."""
    if not isinstance(snapshot.limits, Limits):
        snapshot.limits = Limits(snapshot)
    return snapshot.limits
