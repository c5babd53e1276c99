"""Rings in shared memory by which the workers of a service share their picks.

The ledger of each worker has the picks of all workers and of other daemons
(``peers.py``).  A ring is a buffer of entries in shared memory
(``shared_region.py``).  Readers never wait.  Writers take turns, and wait only
briefly for a worker that is stopped.
"""

import contextlib
import os
import pickle
import struct
import time
import zlib

from oslo_log import log as logging

from nova_sched import shared_region
from nova_sched.concurrency import turns
from nova_sched.shared_region import SharedRegion

LOG = logging.getLogger(__name__)

#: Size of a ring in bytes, enough for some 10,000 picks.
SIZE = 16 << 20

#: Seconds between two checks whether other daemons have acknowledged picks.
POLL_PAUSE = 0.001

#: Locks between workers: to write to the ring, and to decide.
_RING, _DECISION = range(2)

#: Header of an entry: size of the data, CRC-32, author.
_ENTRY = struct.Struct('=QI8s')


class NotShared:
    """Takes the place of a ``Sharing`` in a service with one worker."""

    def news(self):
        """Return the news since the last call: list."""
        return []

    def tell(self, news):
        """Share news, which must be picklable, with the other workers."""

    def exclusive(self):
        """Return a context in which no other worker writes."""
        return contextlib.nullcontext()

    def deciding(self, patience):
        """Return a context in which no other worker decides.

        patience: seconds for which other workers wait for it.
        """
        return contextlib.nullcontext()

    #: Number of other daemons that receive the news.
    daemons = 0

    def wait_until_acknowledged(self, seconds):
        """Wait until all other daemons have acknowledged the news so far.

        seconds: maximum wait.
        """


class _Ring(SharedRegion):
    """A ring of entries, in which new entries replace the oldest.

    One process at a time writes; any process may read at any time.  Positions
    count all bytes ever written.

    start, end: position of the oldest entry, and behind the newest.
    waited_for: when other workers stop waiting for the deciding worker, in
        nanoseconds of ``time.monotonic_ns``.
    acknowledged: position behind the last entry that all other daemons have
        received.
    daemons: number of other daemons whose acknowledgement workers wait for.
    """

    WORDS = ('start', 'end', 'waited_for', 'acknowledged', 'daemons')

    def __init__(self, size):
        super().__init__('picks in flight', size)
        self._size = size

    def entries(self, after):
        """Return the entries after a position, and the new position.

        The entries are a list of (author, bytes), without overwritten
        entries.
        """
        entries, at, end = [], max(self.words.start, after), self.words.end
        while at < end:
            size, checksum, author = _ENTRY.unpack(
                self._read(at, _ENTRY.size))
            data = self._read(at + _ENTRY.size, min(size, self._size))
            if _checksum(at, author, data) != checksum:
                # Overwritten since, maybe by a larger entry; or not visible
                # yet, on a processor that reorders writes.
                if self.words.start <= at:
                    break
                at = self.words.start
                continue
            entries.append((author, data))
            at += _ENTRY.size + size
        return entries, at

    def add(self, author, data):
        """Write an entry; return False if it is larger than the ring."""
        start, end = self.words.start, self.words.end
        entry = _ENTRY.pack(
            len(data), _checksum(end, author, data), author) + data
        if len(entry) > self._size:
            return False
        while end + len(entry) - start > self._size:
            size, _, _ = _ENTRY.unpack(self._read(start, _ENTRY.size))
            start += _ENTRY.size + size
        self.words.start = start
        self._write(end, entry)
        self.words.end = end + len(entry)
        return True

    def _read(self, at, size):
        at %= self._size
        return (self.memory[at:at + size]
                + self.memory[:max(0, at + size - self._size)])

    def _write(self, at, data):
        at %= self._size
        first, rest = data[:self._size - at], data[self._size - at:]
        self.memory[at:at + len(first)] = first
        self.memory[:len(rest)] = rest


class SharedPicks:
    """The rings, created before the workers are forked.

    workers: their number; a single one needs no locks.

    may_write: inside of ``exclusive``, whether this process may write; None
        outside.
    """

    def __init__(self, workers, size=SIZE):
        self.placed, self.from_peers = _Ring(size), _Ring(size)
        self._one_worker = workers == 1
        self.may_write = True if self._one_worker else None

    def sharing(self, from_now=False):
        """Return a new Sharing for this worker.

        from_now: whether to skip earlier news, which a predecessor hands on.
        """
        return Sharing(self, from_now)

    def exchange(self):
        """Return the Exchange for the messenger process."""
        return Exchange(self)

    def exclusive(self):
        """Return a context in which no other worker writes.

        If another worker holds the lock too long, the block continues without
        the lock and writes nothing.
        """
        return self.placed.threads if self._one_worker else self._exclusive()

    @contextlib.contextmanager
    def _exclusive(self):
        with self.placed.threads:
            if self.may_write is not None:
                yield
                return
            with self.placed.locked(_RING) as self.may_write:
                if not self.may_write:
                    LOG.warning('Another worker has held the pick lock for '
                                '%s seconds; continuing without it',
                                shared_region.PATIENCE)
                try:
                    yield
                finally:
                    self.may_write = None

    def deciding(self, patience):
        """Return a context in which no other worker decides.

        See ``NotShared.deciding``.
        """
        return (contextlib.nullcontext() if self._one_worker
                else self._deciding(patience))

    @contextlib.contextmanager
    def _deciding(self, patience):
        with self.placed.locked(_DECISION, self._patience) as is_locked:
            self.placed.words.waited_for = (
                time.monotonic_ns() + int(patience * 1e9))
            yield is_locked

    def _patience(self):
        """Return a function: whether to wait on for the deciding worker.

        The wait starts again with each worker that takes the lock.
        """
        seen, until = None, 0

        def is_waited_for():
            nonlocal seen, until
            now, limit = time.monotonic_ns(), self.placed.words.waited_for
            if limit != seen:
                # The limit may be of the previous holder: a worker takes
                # the lock before it writes its limit.
                seen, until = limit, max(
                    limit, now + int(shared_region.PATIENCE * 1e9))
            return now < until
        return is_waited_for


class _Reader:
    """Reads the new entries of a ring.

    from_now: whether to skip earlier entries.

    end: position behind the last entry that was read.
    """

    def __init__(self, ring, from_now=False):
        self._ring = ring
        self.end = ring.words.end if from_now else 0

    def news(self, author=None):
        """Return the news since the last call, except one author's: list."""
        if self.end == self._ring.words.end:
            return []
        entries, self.end = self._ring.entries(self.end)
        return [news for by, data in entries if by != author
                for news in _unpickled(data)]


class Sharing(NotShared):
    """A worker's access to SharedPicks."""

    def __init__(self, picks, from_now=False):
        self._picks, self._author = picks, os.urandom(8)
        self._placed = _Reader(picks.placed, from_now)
        self._from_peers = _Reader(picks.from_peers, from_now)
        self.exclusive, self.deciding = picks.exclusive, picks.deciding

    def news(self):
        return self._placed.news(self._author) + self._from_peers.news()

    def tell(self, news):
        with self.exclusive():
            if self._picks.may_write:
                _tell(self._picks.placed, self._author, news)

    @property
    def daemons(self):
        return self._picks.placed.words.daemons

    def wait_until_acknowledged(self, seconds):
        words, until = self._picks.placed.words, time.monotonic() + seconds
        end = words.end
        with turns.waiting():
            while (words.daemons and words.acknowledged < end
                   and time.monotonic() < until):
                time.sleep(POLL_PAUSE)


class Exchange(_Reader):
    """The messenger's access to SharedPicks.

    ``news`` returns the news of all workers; ``tell`` sends news to all.
    """

    def __init__(self, picks):
        super().__init__(picks.placed)
        self._from_peers = picks.from_peers

    def note_acknowledged(self, end, daemons):
        """Set the position behind the last entry that other daemons received.

        daemons: their number; 0 if no worker is to wait.
        """
        self._ring.words.acknowledged, self._ring.words.daemons = end, daemons

    def tell(self, news):
        with self._from_peers.threads:
            _tell(self._from_peers, b'exchange', news)


def _tell(ring, author, news):
    """Write news into a ring, if possible."""
    try:
        data = pickle.dumps(news, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        # A plug-in may have set values of any type.
        LOG.warning('Picks cannot be shared with other workers: %r', error)
        return
    if not ring.add(author, data):
        LOG.warning('Picks of %d bytes cannot be shared with other workers: '
                    'they are larger than the shared memory', len(data))


def _unpickled(data):
    """Return a list with the unpickled news, empty if that fails."""
    try:
        # Only processes of this service can write to the memory.
        return [pickle.loads(data)]  # noqa: S301
    except Exception as error:
        LOG.warning('Picks of another worker cannot be read: %r', error)
        return []


def _checksum(at, author, data):
    return zlib.crc32(author + data, zlib.crc32(struct.pack('=Q', at)))
