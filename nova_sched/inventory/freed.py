"""Which compute nodes use less than before: instances have left them."""

import numpy as np

#: What grows with each instance, and what shrinks.
_USED, _FREE = ('vcpus_used', 'disk_mb_used'), ('free_ram_mb',)


class FreedNodes:
    """Compares the hosts as read with those of the last look."""

    def __init__(self):
        self._before = None

    def look(self, table):
        """Return the uuids of compute nodes that use less now: list.

        table: HostTable as read, without what is in flight.
        """
        columns, before = table.columns, self._before
        self._before = columns
        if before is None or columns is before:
            return []
        if columns['uuid'] is before['uuid']:
            rows, earlier = slice(None), slice(None)
        else:
            known = {uuid: row for row, uuid
                     in enumerate(before['uuid'].items())}
            pairs = [(row, known[uuid]) for row, uuid
                     in enumerate(columns['uuid'].items()) if uuid in known]
            rows, earlier = np.array(pairs, np.int64).reshape(-1, 2).T
        fell = np.zeros(len(columns['uuid'].codes[rows]), np.bool_)
        for name in _USED:
            fell |= columns[name][rows] < before[name][earlier]
        for name in _FREE:
            fell |= columns[name][rows] > before[name][earlier]
        uuids = columns['uuid']
        return [uuids.values[code] for code in uuids.codes[rows][fell]]
