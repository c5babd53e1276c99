"""Find compute nodes with less usage because instances left."""

#: Columns that grow with each instance, besides one that shrinks.
_USED = ('vcpus_used', 'disk_mb_used')


class FreedNodes:
    """Compares the host table with that of the previous call."""

    def __init__(self):
        self._before = None

    def look(self, table):
        """Return the uuids of compute nodes with less usage: list.

        Empty if nodes were added or removed: a listing of Placement's
        candidates covers this rare case.
        table: HostTable as read, without the ledger's entries.
        """
        columns, before = table.columns, self._before
        self._before, uuids = columns, columns['uuid']
        if before is None or uuids is not before['uuid']:
            return []
        fell = columns['free_ram_mb'] > before['free_ram_mb']
        for name in _USED:
            fell |= columns[name] < before[name]
        return [uuids.values[code] for code in uuids.codes[fell]]
