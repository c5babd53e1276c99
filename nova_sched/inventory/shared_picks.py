"""What the workers of a service tell each other of their picks.

What a worker places is in flight in each of them (``placements.py``), and so
is what other daemons place (``peers.py``).  They tell each other by rings of
entries in memory that they inherit: nothing of it outlives the service.  Who
reads waits for nobody.  Workers write one after the other: locks of a file
see to it, which the kernel opens when a worker ends, however it does; and
nobody waits long for one that is stopped while it has them.
"""

import contextlib
import fcntl
import mmap
import os
import pickle
import struct
import threading
import time
import zlib

from oslo_log import log as logging

from nova_sched import turns

LOG = logging.getLogger(__name__)

#: Bytes of a ring, for some 10,000 picks.
SIZE = 16 << 20

#: Seconds that a worker waits for the ring, which others have for less than
#: one millisecond, and between two tries.
PATIENCE, PAUSE = 0.1, 0.0003

#: Seconds between two looks at whether other daemons have heard.
HEARD_PAUSE = 0.001

#: Of all that was ever written: where the oldest entry begins that is still
#: there, and where the last one ends; until when others wait for the worker
#: that decides, in nanoseconds of the clock of ``time.monotonic``; where the
#: last entry ends that all other daemons have heard of, and how many these
#: are.  Each is written at once.
_BOUNDS, _BOUNDS_SIZE = 'Q', 40
#: Of an entry: the size of what follows, its checksum, and who has written it.
_ENTRY = struct.Struct('=QI8s')


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

        patience: seconds that others wait for it.
        """
        return contextlib.nullcontext()

    #: How many other daemons are known to hear what is told.
    daemons = 0

    def wait_until_heard(self, seconds):
        """Wait until all other daemons have heard what was told so far.

        seconds: to wait at most.
        """


class _Ring:
    """Entries in shared memory, of which the oldest make room for new ones.

    One process at a time writes; any may read at any time.
    """

    def __init__(self, size):
        self._size = size
        self.file = os.memfd_create('picks in flight')
        os.ftruncate(self.file, _BOUNDS_SIZE + size)
        self._memory = mmap.mmap(self.file, _BOUNDS_SIZE + size)
        self._bounds = memoryview(self._memory)[:_BOUNDS_SIZE].cast(_BOUNDS)

    def __del__(self):
        os.close(self.file)

    @property
    def end(self):
        """Where the last entry ends."""
        return self._bounds[1]

    @property
    def waited_for(self):
        """Until when others wait for the worker that decides."""
        return self._bounds[2]

    @waited_for.setter
    def waited_for(self, until):
        self._bounds[2] = until

    @property
    def heard(self):
        """Where the last entry ends that all other daemons have heard of."""
        return self._bounds[3]

    @heard.setter
    def heard(self, end):
        self._bounds[3] = end

    @property
    def daemons(self):
        """How many other daemons are known to hear."""
        return self._bounds[4]

    @daemons.setter
    def daemons(self, count):
        self._bounds[4] = count

    def entries(self, after):
        """Return the entries after a place in the ring: list of (author,
        bytes), and where they end.

        Those that had to make room are not among them.
        """
        start, end = self._bounds[:2]
        found, at = [], max(start, after)
        while at < end:
            size, checksum, author = _ENTRY.unpack(
                self._read(at, _ENTRY.size))
            data = self._read(at + _ENTRY.size, min(size, self._size))
            if _checksum(at, author, data) != checksum:
                # It has made room meanwhile, perhaps for a whole one; or it
                # is not there yet, on a processor that writes in another
                # order.
                start = self._bounds[0]
                if start <= at:
                    break
                at = start
                continue
            found.append((author, data))
            at += _ENTRY.size + size
        return found, at

    def add(self, author, data):
        """Write an entry; return False for one that is too large."""
        start, end = self._bounds[:2]
        entry = _ENTRY.pack(
            len(data), _checksum(end, author, data), author) + data
        if len(entry) > self._size:
            return False
        while end + len(entry) - start > self._size:
            size, _, _ = _ENTRY.unpack(self._read(start, _ENTRY.size))
            start += _ENTRY.size + size
        # Whoever is killed in between leaves all that stays readable.
        self._bounds[0] = start
        self._write(end, entry)
        self._bounds[1] = end + len(entry)
        return True

    def _read(self, at, size):
        place = at % self._size
        first = self._memory[_BOUNDS_SIZE + place:
                             _BOUNDS_SIZE + min(place + size, self._size)]
        rest = size - len(first)
        return first + self._memory[_BOUNDS_SIZE:_BOUNDS_SIZE + rest]

    def _write(self, at, data):
        place = at % self._size
        first = data[:self._size - place]
        rest = data[len(first):]
        at = _BOUNDS_SIZE + place
        self._memory[at:at + len(first)] = first
        self._memory[_BOUNDS_SIZE:_BOUNDS_SIZE + len(rest)] = rest


class SharedPicks:
    """The rings, made before the workers are forked.

    workers: how many there are; one has the rings, and all turns, to itself.
    """

    def __init__(self, workers, size=SIZE):
        self.placed, self.heard = _Ring(size), _Ring(size)
        self._one_worker = workers == 1
        # Locks of a file are between processes, and this between threads.
        self._lock, self._depth = threading.RLock(), 0
        #: Whether this process, in ``alone``, may write.
        self.is_alone = self._one_worker

    def sharing(self, from_now=False):
        """Return a new Sharing, in the worker that is to have it.

        from_now: whether it is told nothing of before, which somebody else
            knows and hands on.
        """
        return Sharing(self, from_now)

    def exchange(self):
        """Return the Exchange, in the process that is to have it."""
        return Exchange(self)

    def alone(self):
        """Have no other worker write for a block, or wait no longer for it."""
        if self._one_worker:
            return self._lock
        return self._alone()

    @contextlib.contextmanager
    def _alone(self):
        with self._lock:
            self._depth += 1
            try:
                if self._depth > 1:
                    yield
                    return
                end = time.monotonic() + PATIENCE
                with self._locked(0, _BOUNDS_SIZE, lambda: (
                        time.monotonic() < end)) as self.is_alone:
                    if not self.is_alone:
                        LOG.warning('A worker has had the picks in flight of '
                                    'all for %s seconds; going on beside it',
                                    PATIENCE)
                    yield
            finally:
                self._depth -= 1

    def turn(self, patience):
        """Decide while no other worker does, see ``NotShared.turn``."""
        if self._one_worker:
            return contextlib.nullcontext()
        return self._turn(patience)

    @contextlib.contextmanager
    def _turn(self, patience):
        with self._locked(_BOUNDS_SIZE, 1, self._patience()) as is_alone:
            self.placed.waited_for = time.monotonic_ns() + int(patience * 1e9)
            yield is_alone

    def _patience(self):
        """Return a function: whether to wait on for the worker that decides.

        Each next one is waited for anew.
        """
        seen, until = None, 0

        def is_waited_for():
            nonlocal seen, until
            now, told = time.monotonic_ns(), self.placed.waited_for
            if told != seen:
                # The lock comes first: it may belong to a next one already.
                seen, until = told, max(told, now + int(PATIENCE * 1e9))
            return now < until
        return is_waited_for

    @contextlib.contextmanager
    def _locked(self, place, size, is_waited_for):
        """Lock bytes of the file for a block; gives whether they are.

        is_waited_for: function, whether to go on waiting for the lock.
        """
        locked = self._try_lock(place, size)
        while not locked and is_waited_for():
            time.sleep(PAUSE)
            locked = self._try_lock(place, size)
        try:
            yield locked
        finally:
            if locked:
                fcntl.lockf(self.placed.file, fcntl.LOCK_UN, size, place)

    def _try_lock(self, place, size):
        try:
            fcntl.lockf(self.placed.file, fcntl.LOCK_EX | fcntl.LOCK_NB,
                        size, place)
        except BlockingIOError:
            return False
        return True


class _Reader:
    """One who is told what is written in a ring.

    from_now: whether it is told nothing of before.
    """

    def __init__(self, ring, from_now):
        self._ring, self._at = ring, ring.end if from_now else 0

    @property
    def end(self):
        """Where the last entry ends that was read."""
        return self._at

    def news(self, author=None):
        """Return what was written since the last call, not by one: list."""
        if self._at == self._ring.end:
            return []
        found, self._at = self._ring.entries(self._at)
        return [news for by, data in found if by != author
                for news in _unpickled(data)]


class Sharing(NotShared):
    """One who tells other workers by SharedPicks, and is told by them."""

    def __init__(self, picks, from_now=False):
        self._picks, self._author = picks, os.urandom(8)
        self._placed = _Reader(picks.placed, from_now)
        self._heard = _Reader(picks.heard, from_now)

    def news(self):
        return self._placed.news(self._author) + self._heard.news()

    def tell(self, news):
        data = _pickled(news)
        with self._picks.alone():
            if data is not None and self._picks.is_alone:
                _write(self._picks.placed, self._author, data)

    def alone(self):
        return self._picks.alone()

    def turn(self, patience):
        return self._picks.turn(patience)

    @property
    def daemons(self):
        return self._picks.placed.daemons

    def wait_until_heard(self, seconds):
        ring, until = self._picks.placed, time.monotonic() + seconds
        end = ring.end
        with turns.waiting():
            while (ring.daemons and ring.heard < end
                   and time.monotonic() < until):
                time.sleep(HEARD_PAUSE)


class Exchange:
    """What stands between the workers and other daemons.

    ``news`` is what any worker tells; ``tell`` tells all of them.
    """

    def __init__(self, picks):
        self._reader = _Reader(picks.placed, from_now=False)
        self.news, self._placed = self._reader.news, picks.placed
        self._heard, self._lock = picks.heard, threading.Lock()

    @property
    def end(self):
        """Where the last entry ends that ``news`` has returned."""
        return self._reader.end

    def note_heard(self, end, daemons):
        """Note where the last entry ends that other daemons have heard of.

        daemons: how many these are; 0 if nobody is to be waited for.
        """
        self._placed.heard, self._placed.daemons = end, daemons

    def tell(self, news):
        data = _pickled(news)
        if data is not None:
            with self._lock:
                _write(self._heard, b'exchange', data)


def _pickled(news):
    """Return news as bytes; None for what cannot be."""
    try:
        return pickle.dumps(news, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        # A plug-in's values may be of any kind.
        LOG.warning('Other workers cannot be told of picks: %r', error)
        return None


def _unpickled(data):
    """Return the news that bytes are: list of one, or of none."""
    try:
        # Only processes of this service can write there.
        return [pickle.loads(data)]  # noqa: S301
    except Exception as error:
        LOG.warning('Picks of another worker cannot be read: %r', error)
        return []


def _checksum(at, author, data):
    return zlib.crc32(author + data, zlib.crc32(struct.pack('=Q', at)))


def _write(ring, author, data):
    if not ring.add(author, data):
        LOG.warning('Picks of %d bytes are more than other workers can be '
                    'told', len(data))
