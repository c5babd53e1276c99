"""Sums that several processes add to without waiting for each other.

Each process adds to its own part, chosen by a number that is unique among the
running processes.  A process that gets the number of an ended one continues
with its part.  So no amount is lost with a process, and a reader adds up the
parts.

The positions of a key's sums, the same in each part, are written ahead of the
parts, by the first process that uses the key.
"""

import json
import struct

from nova_sched.shared_region import SharedRegion

#: Bytes for the keys, and number of sums in a part.
_KEYS, _SUMS = 1 << 18, 1 << 13
_PART = _SUMS * struct.calcsize('d')


class _Region(SharedRegion):
    """The keys, as lines of JSON, and the parts.

    used: bytes that the keys take so far.
    """

    WORDS = ('used',)


class SharedSums:
    """The sums of processes forked from the maker of this object.

    processes: most processes that add at a time.

    mine: the part of this process: float64, to be added to; None before
        ``begin``.
    adding: lock to hold while adding and calling ``place``, for the threads of
        a process.
    is_full: whether a key found no room; no new key is stored from then on.
    """

    def __init__(self, processes):
        self._region = _Region('metrics', _KEYS + processes * _PART)
        memory = memoryview(self._region.memory)
        self._parts = [memory[at:at + _PART].cast('d')
                       for at in range(_KEYS, len(memory), _PART)]
        self.adding, self.mine = self._region.threads, None
        # Key -> (position of its first sum in a part, number of sums), for the
        # keys that this process has read.
        self._places, self._read, self._end = {}, 0, 0
        self.is_full = False

    def begin(self, number):
        """Add to the part with a number from now on."""
        self.mine = self._parts[number % len(self._parts)]

    def place(self, key, width=1):
        """Return the position of a key's first sum in ``mine``: int.

        key: tuple of texts.  width: number of sums.
        Returns None if there is no room for more keys, or while another
        process writes a key: it may be stopped, so there is no waiting.
        """
        position = self._places.get(key)
        return self._new_place(key, width) if position is None else position[0]

    def _new_place(self, key, width):
        if not self.is_full and self._region.try_lock():
            try:
                self._read_keys()
                if key not in self._places:
                    self._write_key(key, width)
            finally:
                self._region.unlock()
        return self._places.get(key, (None,))[0]

    def all(self):
        """Return all sums: key -> list."""
        with self.adding:
            self._read_keys()
            places = list(self._places.items())
        return {key: [sum(part[at] for part in self._parts)
                      for at in range(begin, begin + width)]
                for key, (begin, width) in places}

    def _read_keys(self):
        """Read the keys that were written since the last call."""
        lines = self._region.memory[self._read:self._region.words.used]
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
        self._region.memory[self._read:end] = line
        self._region.words.used = end
        self._read_keys()
