"""Sums that several processes add to, each without waiting for others.

They are in memory that the processes inherit.  Each adds to a region of its
own, by a number that no other one has at the time; a process that takes the
number of one that is gone goes on with its region.  So nothing that was added
is lost with a process, and who reads adds the regions up.

Where the sums of a key stand in each region is written before the regions,
once, by whoever has a key first.
"""

import fcntl
import json
import mmap
import os
import struct
import threading

#: Bytes of the keys, and sums of a region.
_KEYS, _SUMS = 1 << 18, 1 << 13
_REGION = _SUMS * struct.calcsize('d')
#: Bytes that the keys take so far.
_USED = struct.Struct('=Q')


class SharedSums:
    """The sums of processes forked from the maker of this object.

    processes: how many add at a time.

    mine: the region of this process: float64, to be added to; None before
        ``begin``.
    adding: a lock for who adds, and asks for a place, as a process may have
        threads.
    is_full: whether a key found no room; none that is new is kept then.
    """

    def __init__(self, processes):
        self._file = os.memfd_create('metrics')
        os.ftruncate(self._file, _KEYS + processes * _REGION)
        self._memory = mmap.mmap(self._file, _KEYS + processes * _REGION)
        self._regions = [
            memoryview(self._memory)[at:at + _REGION].cast('d')
            for at in range(_KEYS, len(self._memory), _REGION)]
        self.adding, self.mine = threading.Lock(), None
        # Key -> (where its sums begin in a region, how many there are), as
        # far as this process has read them.
        self._places, self._read, self._end = {}, _USED.size, 0
        self.is_full = False

    def begin(self, number):
        """Add to the region of a number from now on."""
        self.mine = self._regions[number % len(self._regions)]

    def place(self, key, width=1):
        """Return where the sums of a key begin in ``mine``: int.

        key: tuple of texts.  width: how many sums it has.
        None where there is no room for more keys, or another process is
        writing one: nobody waits for it, whatever holds it up.
        """
        found = self._places.get(key)
        return self._new_place(key, width) if found is None else found[0]

    def _new_place(self, key, width):
        if self.is_full or not self._locked():
            return None
        try:
            self._read_keys()
            if key not in self._places:
                self._write_key(key, width)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, _USED.size)
        return self._places.get(key, (None,))[0]

    def all(self):
        """Return all sums: key -> list."""
        with self.adding:
            self._read_keys()
            places = list(self._places.items())
        return {key: [sum(region[at] for region in self._regions)
                      for at in range(begin, begin + width)]
                for key, (begin, width) in places}

    def _read_keys(self):
        """Take in the keys that others have written."""
        [used] = _USED.unpack_from(self._memory)
        lines = self._memory[self._read:max(used, self._read)]
        for line in lines.splitlines():
            *key, width = json.loads(line)
            self._places[tuple(key)] = self._end, width
            self._end += width
        self._read += len(lines)

    def _write_key(self, key, width):
        line = json.dumps([*map(str, key), width]).encode() + b'\n'
        end = self._read + len(line)
        if end > _KEYS or self._end + width > _SUMS:
            self.is_full = True
            return
        self._memory[self._read:end] = line
        # Whoever is killed in between leaves what is written as it was.
        _USED.pack_into(self._memory, 0, end)
        self._read_keys()

    def _locked(self):
        """Return whether no other process writes a key; none does then."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, _USED.size)
        except BlockingIOError:
            return False
        return True
