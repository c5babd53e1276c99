"""Rings by which the workers of a service tell each other of their picks.

What a worker places is in flight in each of them, and so is what other
daemons place (``peers.py``).  A ring is entries in memory that the processes
share (``shared_region.py``).  Readers wait for nobody.  Workers write one
after the other, and none waits long for one that is stopped.
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

#: Bytes of a ring, for some 10,000 picks.
SIZE = 16 << 20

#: Seconds between two looks at whether other daemons have heard.
HEARD_PAUSE = 0.001

#: The locks between workers: of who writes, and of who decides.
_RING, _TURN = range(2)

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


class _Ring(SharedRegion):
    """Entries, of which the oldest make room for new ones.

    One process at a time writes; any may read at any time.

    start, end: of all that was ever written, where the oldest entry begins
        that is still there, and where the last one ends.
    waited_for: until when others wait for the worker that decides, in
        nanoseconds of the clock of ``time.monotonic``.
    heard: where the last entry ends that all other daemons have heard of.
    daemons: how many other daemons are known to hear.
    """

    WORDS = ('start', 'end', 'waited_for', 'heard', 'daemons')

    def __init__(self, size):
        super().__init__('picks in flight', size)
        self._size = size

    def entries(self, after):
        """Return the entries after a place in the ring: list of (author,
        bytes), and where they end.

        Those that had to make room are not among them.
        """
        found, at, end = [], max(self.words.start, after), self.words.end
        while at < end:
            size, checksum, author = _ENTRY.unpack(
                self._read(at, _ENTRY.size))
            data = self._read(at + _ENTRY.size, min(size, self._size))
            if _checksum(at, author, data) != checksum:
                # It has made room meanwhile, perhaps for a whole one; or it
                # is not there yet, on a processor that writes in another
                # order.
                if self.words.start <= at:
                    break
                at = self.words.start
                continue
            found.append((author, data))
            at += _ENTRY.size + size
        return found, at

    def add(self, author, data):
        """Write an entry; return False for one that is too large."""
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
    """The rings, made before the workers are forked.

    workers: how many there are; one has the rings, and all turns, to itself.

    is_alone: whether this process, in ``alone``, may write; None outside.
    """

    def __init__(self, workers, size=SIZE):
        self.placed, self.heard = _Ring(size), _Ring(size)
        self._one_worker = workers == 1
        self.is_alone = True if self._one_worker else None

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
        """Have no other worker write for a block.

        Where another worker keeps the ring for too long, go on beside it;
        nothing is written then.
        """
        return self.placed.threads if self._one_worker else self._alone()

    @contextlib.contextmanager
    def _alone(self):
        with self.placed.threads:
            if self.is_alone is not None:
                yield
                return
            with self.placed.locked(_RING) as self.is_alone:
                if not self.is_alone:
                    LOG.warning('A worker has had the picks in flight of all '
                                'for %s seconds; going on beside it',
                                shared_region.PATIENCE)
                try:
                    yield
                finally:
                    self.is_alone = None

    def turn(self, patience):
        """Decide while no other worker does, see ``NotShared.turn``."""
        return (contextlib.nullcontext() if self._one_worker
                else self._turn(patience))

    @contextlib.contextmanager
    def _turn(self, patience):
        with self.placed.locked(_TURN, self._patience) as is_alone:
            self.placed.words.waited_for = (
                time.monotonic_ns() + int(patience * 1e9))
            yield is_alone

    def _patience(self):
        """Return a function: whether to wait on for the worker that decides.

        Each next one is waited for anew.
        """
        seen, until = None, 0

        def is_waited_for():
            nonlocal seen, until
            now, told = time.monotonic_ns(), self.placed.words.waited_for
            if told != seen:
                # The lock comes first: it may belong to a next one already.
                seen, until = told, max(
                    told, now + int(shared_region.PATIENCE * 1e9))
            return now < until
        return is_waited_for


class _Reader:
    """One who is told what is written in a ring.

    from_now: whether it is told nothing of before.

    end: where the last entry ends that was read.
    """

    def __init__(self, ring, from_now=False):
        self._ring = ring
        self.end = ring.words.end if from_now else 0

    def news(self, author=None):
        """Return what was written since the last call, not by one: list."""
        if self.end == self._ring.words.end:
            return []
        found, self.end = self._ring.entries(self.end)
        return [news for by, data in found if by != author
                for news in _unpickled(data)]


class Sharing(NotShared):
    """One who tells other workers by SharedPicks, and is told by them."""

    def __init__(self, picks, from_now=False):
        self._picks, self._author = picks, os.urandom(8)
        self._placed = _Reader(picks.placed, from_now)
        self._heard = _Reader(picks.heard, from_now)
        self.alone, self.turn = picks.alone, picks.turn

    def news(self):
        return self._placed.news(self._author) + self._heard.news()

    def tell(self, news):
        with self.alone():
            if self._picks.is_alone:
                _tell(self._picks.placed, self._author, news)

    @property
    def daemons(self):
        return self._picks.placed.words.daemons

    def wait_until_heard(self, seconds):
        words, until = self._picks.placed.words, time.monotonic() + seconds
        end = words.end
        with turns.waiting():
            while (words.daemons and words.heard < end
                   and time.monotonic() < until):
                time.sleep(HEARD_PAUSE)


class Exchange(_Reader):
    """What stands between the workers and other daemons.

    ``news`` is what any worker tells; ``tell`` tells all of them.
    """

    def __init__(self, picks):
        super().__init__(picks.placed)
        self._heard = picks.heard

    def note_heard(self, end, daemons):
        """Note where the last entry ends that other daemons have heard of.

        daemons: how many these are; 0 if nobody is to be waited for.
        """
        self._ring.words.heard, self._ring.words.daemons = end, daemons

    def tell(self, news):
        with self._heard.threads:
            _tell(self._heard, b'exchange', news)


def _tell(ring, author, news):
    """Write news into a ring, if possible."""
    try:
        data = pickle.dumps(news, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        # A plug-in's values may be of any kind.
        LOG.warning('Other workers cannot be told of picks: %r', error)
        return
    if not ring.add(author, data):
        LOG.warning('Picks of %d bytes are more than other workers can be '
                    'told', len(data))


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
