"""What the workers of a service tell each other of their picks.

What a worker places is in flight in each of them (``placements.py``).  They
tell each other by a ring of entries in memory that they inherit: nothing of it
outlives the service.  Locks of a file guard it, which the kernel opens when a
worker ends, however it does; and nobody waits long for one that is stopped
while it has them.
"""

import contextlib
import fcntl
import mmap
import os
import pickle
import struct
import threading
import time

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Bytes of the ring, for some 10,000 picks.
SIZE = 16 << 20

#: Seconds that a worker waits for the ring, which others have for less than
#: one millisecond, and between two tries.
PATIENCE, PAUSE = 0.1, 0.0003

#: Of all that was ever written: where the oldest entry begins that is still
#: there, and where the last one ends.
_BOUNDS = struct.Struct('=QQ')
#: Of an entry: the size of what follows, and who has written it.
_ENTRY = struct.Struct('=Q8s')


class NotShared:
    """In place of a ``Sharing``, where one worker alone decides."""

    def news(self):
        """Return what others have told since the last call: list."""
        return []

    def tell(self, news):
        """Tell others something that can be pickled."""

    def alone(self):
        """Have nobody else read or tell for a block."""
        return contextlib.nullcontext()

    def turn(self, patience):
        """Decide while no other worker does: a context, for a block.

        patience: seconds to wait for others at most.
        """
        return contextlib.nullcontext()


class SharedPicks:
    """The ring, made before the workers are forked."""

    def __init__(self, size=SIZE):
        self._size = size
        self._file = os.memfd_create('picks in flight')
        os.ftruncate(self._file, _BOUNDS.size + size)
        self._memory = mmap.mmap(self._file, _BOUNDS.size + size)
        # Locks of a file are between processes, and this between threads.
        self._lock, self._depth = threading.RLock(), 0
        #: Whether this process, in ``alone``, has the ring to itself.
        self.is_alone = False

    def __del__(self):
        os.close(self._file)

    def sharing(self, from_now=False):
        """Return a new Sharing, in the process that is to have it.

        from_now: whether it is told nothing of before, which somebody else
            knows and hands on.
        """
        return Sharing(self, self.end() if from_now else 0)

    def end(self):
        """Return where the last entry ends."""
        return _BOUNDS.unpack_from(self._memory)[1]

    def entries(self, after):
        """Return the entries after a place in the ring: list of (author,
        bytes), and where they end.

        Those that had to make room are not among them.
        """
        start, end = _BOUNDS.unpack_from(self._memory)
        found, at = [], max(start, after)
        while at < end:
            size, author = _ENTRY.unpack(self._read(at, _ENTRY.size))
            at += _ENTRY.size
            found.append((author, self._read(at, size)))
            at += size
        return found, end

    def add(self, author, data):
        """Write an entry; the oldest ones make room for it."""
        start, end = _BOUNDS.unpack_from(self._memory)
        entry = _ENTRY.pack(len(data), author) + data
        if len(entry) > self._size:
            LOG.warning('Picks of %d bytes are more than other workers can '
                        'be told', len(data))
            return
        while end + len(entry) - start > self._size:
            size, _ = _ENTRY.unpack(self._read(start, _ENTRY.size))
            start += _ENTRY.size + size
        # Whoever is killed in between leaves all that stays readable.
        _BOUNDS.pack_into(self._memory, 0, start, end)
        self._write(end, entry)
        _BOUNDS.pack_into(self._memory, 0, start, end + len(entry))

    def _read(self, at, size):
        place = at % self._size
        first = self._memory[_BOUNDS.size + place:
                             _BOUNDS.size + min(place + size, self._size)]
        rest = size - len(first)
        return first + self._memory[_BOUNDS.size:_BOUNDS.size + rest]

    def _write(self, at, data):
        place = at % self._size
        first = data[:self._size - place]
        rest = data[len(first):]
        at = _BOUNDS.size + place
        self._memory[at:at + len(first)] = first
        self._memory[_BOUNDS.size:_BOUNDS.size + len(rest)] = rest

    @contextlib.contextmanager
    def alone(self):
        """Have the ring alone for a block, or wait no longer for it.

        Who does not have it alone may read: nobody writes then.
        """
        with self._lock:
            self._depth += 1
            try:
                if self._depth > 1:
                    yield
                    return
                with self._locked(0, _BOUNDS.size, PATIENCE) as self.is_alone:
                    if not self.is_alone:
                        LOG.warning('A worker has had the picks in flight of '
                                    'all for %s seconds; going on beside it',
                                    PATIENCE)
                    yield
            finally:
                self._depth -= 1

    def turn(self, patience):
        """Decide while no other worker does, see ``NotShared.turn``."""
        return self._locked(_BOUNDS.size, 1, patience)

    @contextlib.contextmanager
    def _locked(self, place, size, patience):
        """Lock bytes of the file for a block; gives whether they are."""
        locked, end = self._try_lock(place, size), time.monotonic() + patience
        while not locked and time.monotonic() < end:
            time.sleep(PAUSE)
            locked = self._try_lock(place, size)
        try:
            yield locked
        finally:
            if locked:
                fcntl.lockf(self._file, fcntl.LOCK_UN, size, place)

    def _try_lock(self, place, size):
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, size, place)
        except BlockingIOError:
            return False
        return True


class Sharing(NotShared):
    """One who tells others by a SharedPicks, and is told by them."""

    def __init__(self, picks, after=0):
        self._picks, self._at = picks, after
        self._author = os.urandom(8)

    def news(self):
        if self._at == self._picks.end():
            return []
        with self._picks.alone():
            found, self._at = self._picks.entries(self._at)
        # Only this service's own workers can write there.
        return [pickle.loads(data)  # noqa: S301
                for author, data in found if author != self._author]

    def tell(self, news):
        try:
            data = pickle.dumps(news, pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            # A plug-in's values may be of any kind.
            LOG.warning('Other workers cannot be told of picks: %r', error)
            return
        with self._picks.alone():
            if self._picks.is_alone:
                self._picks.add(self._author, data)

    def alone(self):
        return self._picks.alone()

    def turn(self, patience):
        return self._picks.turn(patience)
