"""Find compute nodes with less usage because instances left."""

import numpy as np

#: Columns that grow with each instance, and columns that shrink.
_USED, _FREE = ('vcpus_used', 'disk_mb_used'), ('free_ram_mb',)


class FreedNodes:
    """Compares the host table with that of the previous call."""

    def __init__(self):
        self._before = None

    def look(self, table):
        """Return the uuids of compute nodes with less usage: list.

        table: HostTable as read, without the ledger's entries.
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
