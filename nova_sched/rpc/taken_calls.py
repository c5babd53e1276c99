"""Which calls were taken of late, and by which worker of this service.

A broker gives a call to somebody again if it has not heard that the call was
acknowledged, as where a connection is cut and the acknowledgement with it.
The workers share a table of the calls that they took, so that none is decided
twice.  It is memory that they inherit: a worker that is killed leaves it whole
and its locks open, and nothing of it outlives the service.
"""

import contextlib
import enum
import fcntl
import hashlib
import mmap
import os
import struct
import threading
import time
import typing

#: Seconds that a call is known for.
KEPT = 600

#: A call: digest of its ids, when it was taken by time.monotonic(), by
#: which worker, and whether that has answered.
_ENTRY = struct.Struct('=16sdI?3x')
#: Calls of a bucket, of which the oldest makes room, and buckets: 131,072
#: calls, 4 MiB.
_WAYS, _BUCKETS = 16, 1 << 13
_BUCKET = _WAYS * _ENTRY.size
_SIZE = _BUCKETS * _BUCKET
#: The number of the worker that came last stands behind the buckets.
_NUMBER = struct.Struct('=I')


class Holder(enum.Enum):
    """Who took a call before."""

    THIS_WORKER = 'this worker'
    #: One that is there, or that has answered it.
    ANOTHER_WORKER = 'another worker'


class _Call(typing.NamedTuple):
    digest: bytes
    taken: float
    worker: int
    answered: bool


class TakenCalls:
    """The calls that workers forked from the maker of this object took.

    A worker is known by a number, of which it locks one byte of the file for
    as long as it lives: such locks belong to a process, are not inherited by
    a fork, and are gone with it.
    """

    def __init__(self):
        self._file = os.memfd_create('taken calls')
        os.ftruncate(self._file, _SIZE + _NUMBER.size)
        self._memory = mmap.mmap(self._file, _SIZE + _NUMBER.size)
        # Locks of a file are between processes, and this between threads.
        self._lock = threading.Lock()
        self._process = self._worker = None

    def __del__(self):
        os.close(self._file)

    def take(self, call_id):
        """Note that this worker takes a call.

        Returns None; or the Holder that it has already, which is not one that
        ended before it could answer.
        """
        digest = _digest(call_id)
        with self._bucket_of(digest) as place:
            at, call = self._find(place, digest)
            if call and (call.answered or self._lives(call.worker)):
                return (Holder.THIS_WORKER if call.worker == self._worker
                        else Holder.ANOTHER_WORKER)
            self._write(self._room(place) if at is None else at, _Call(
                digest, time.monotonic(), self._worker, False))
        return None

    def answered(self, call_id):
        """Note that a call of this worker is answered."""
        digest = _digest(call_id)
        with self._bucket_of(digest) as place:
            at, call = self._find(place, digest)
            if call and call.worker == self._worker:
                self._write(at, call._replace(answered=True))

    def _find(self, place, digest):
        """Return where a call of a bucket stands, and the call.

        None for where, if there is no room yet; None for one that is not
        known any more.
        """
        at = self._memory.find(digest, place, place + _BUCKET)
        if at < 0:
            return None, None
        call = _Call(*_ENTRY.unpack_from(self._memory, at))
        return at, call if call.taken > time.monotonic() - KEPT else None

    def _room(self, place):
        """Return where the oldest call of a bucket stands."""
        taken = [fields[1] for fields in _ENTRY.iter_unpack(
            self._memory[place:place + _BUCKET])]
        return place + taken.index(min(taken)) * _ENTRY.size

    def _write(self, at, call):
        self._memory[at:at + _ENTRY.size] = _ENTRY.pack(*call)

    @contextlib.contextmanager
    def _bucket_of(self, digest):
        """Have the bucket of a digest alone for a block; gives its place."""
        place = int.from_bytes(digest[:2]) % _BUCKETS * _BUCKET
        with self._lock:
            self._join()
            with self._locked(place, _BUCKET):
                yield place

    def _join(self):
        """Have a number of this process's own."""
        if self._process == os.getpid():
            return
        with self._locked(_SIZE, _NUMBER.size):
            self._worker = _NUMBER.unpack_from(self._memory, _SIZE)[0] + 1
            _NUMBER.pack_into(self._memory, _SIZE, self._worker)
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _sign(self._worker))
        self._process = os.getpid()

    def _lives(self, worker):
        """Return whether the process of a number is there."""
        if worker == self._worker:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1,
                        _sign(worker))
        except BlockingIOError:
            return True
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _sign(worker))
        return False

    @contextlib.contextmanager
    def _locked(self, place, size):
        fcntl.lockf(self._file, fcntl.LOCK_EX, size, place)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, size, place)


def _digest(call_id):
    return hashlib.blake2b(call_id.encode(), digest_size=16).digest()


def _sign(worker):
    """Return the byte that a worker locks: behind all that is written."""
    return _SIZE + _NUMBER.size + worker
