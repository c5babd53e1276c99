"""Sums that several processes add to, none of which waits for another.

Each process adds to a part of its own, by a number that no other one has at
the time; a process that takes the number of one that is gone goes on with its
part.  So nothing that was added is lost with a process, and a reader adds the
parts up.

Where the sums of a key are in each part is written ahead of the parts, once,
by the first process that has the key.
"""

import json
import struct

from nova_sched.shared_region import SharedRegion

#: Bytes of the keys, and sums of a part.
_KEYS, _SUMS = 1 << 18, 1 << 13
_PART = _SUMS * struct.calcsize('d')


class _Region(SharedRegion):
    """The keys, as lines of JSON, and the parts.

    used: bytes that the keys take so far.
    """

    WORDS = ('used',)


class SharedSums:
    """The sums of processes forked from the maker of this object.

    processes: how many add at a time.

    mine: the part of this process: float64, to be added to; None before
        ``begin``.
    adding: a lock to be held while adding and asking for a place, as a
        process may have threads.
    is_full: whether a key found no room; no new one is kept then.
    """

    def __init__(self, processes):
        self._region = _Region('metrics', _KEYS + processes * _PART)
        memory = memoryview(self._region.memory)
        self._parts = [memory[at:at + _PART].cast('d')
                       for at in range(_KEYS, len(memory), _PART)]
        self.adding, self.mine = self._region.threads, None
        # Key -> (where its sums begin in a part, how many there are), as far
        # as this process has read them.
        self._places, self._read, self._end = {}, 0, 0
        self.is_full = False

    def begin(self, number):
        """Add to the part of a number from now on."""
        self.mine = self._parts[number % len(self._parts)]

    def place(self, key, width=1):
        """Return where the sums of a key begin in ``mine``: int.

        key: tuple of texts.  width: how many sums it has.
        None where there is no room for more keys, or where another process
        is writing one: it may be stopped, and nobody waits for it.
        """
        found = self._places.get(key)
        return self._new_place(key, width) if found is None else found[0]

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
        """Take in the keys that were written since the last time."""
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
