"""The table of calls that the workers of this service took recently.

A broker redelivers a call if it did not receive the acknowledgement, for
example because a connection broke.  The workers share the table, so that no
call is decided twice.
"""

import contextlib
import hashlib
import os
import struct
import time

from nova_sched.shared_region import SharedRegion

#: Seconds for which a call is kept.
KEPT = 600

#: A call: time.monotonic() when it was taken, number of the worker, whether it
#: was answered.  The digest of its id precedes it.
_CALL, _TAKEN = struct.Struct('=dI?3x'), struct.Struct('=16xd8x')
_DIGEST = 16
_ENTRY, _ANSWERED = _DIGEST + _CALL.size, _DIGEST + 12
#: Calls per bucket, in which the oldest is replaced, and number of buckets:
#: 131,072 calls, 4 MiB.
_WAYS, _BUCKETS = 16, 1 << 13
_BUCKET = _WAYS * _ENTRY
#: Numbers for workers: random, so that they are not reused.
_NUMBERS = iter(lambda: int.from_bytes(os.urandom(4)), None)


class TakenCalls:
    """The calls taken by the workers forked from this process.

    Each worker has a number of its own for its lifetime.

    If a process is stopped while it holds a bucket's lock, the others continue
    without the lock: a call may be decided twice then, but each is answered.
    """

    def __init__(self):
        self._region = SharedRegion('taken calls', _BUCKETS * _BUCKET)
        self._memory = self._region.memory

    def take(self, call_id):
        """Record that this worker takes a call.

        Returns False if a worker took it before.  A worker that ended without
        an answer does not count.
        """
        with self._locked(call_id) as (digest, bucket, at):
            worker = self._region.own(_NUMBERS)
            if at < 0:
                at = self._oldest(bucket)
            else:
                taken, holder, answered = _CALL.unpack_from(
                    self._memory, at + _DIGEST)
                if taken > time.monotonic() - KEPT and (
                        answered or self._region.lives(holder)):
                    return False
            # Write the digest last: a partial digest matches no call.
            self._memory[at + _DIGEST:at + _ENTRY] = _CALL.pack(
                time.monotonic(), worker, False)
            self._memory[at:at + _DIGEST] = digest
        return True

    def answered(self, call_id):
        """Record that a call of this worker is answered."""
        with self._locked(call_id) as (_digest, _bucket, at):
            if at >= 0:
                _, holder, _ = _CALL.unpack_from(self._memory, at + _DIGEST)
                if holder == self._region.number:
                    self._memory[at + _ANSWERED] = True

    @contextlib.contextmanager
    def _locked(self, call_id):
        """Lock the bucket of a call for a block.

        Yields the digest of the call, the offset of its bucket, and the offset
        of its entry, -1 without an entry.
        """
        digest = hashlib.blake2b(call_id.encode(),
                                 digest_size=_DIGEST).digest()
        number = int.from_bytes(digest[:2]) % _BUCKETS
        begin = number * _BUCKET
        with self._region.threads, self._region.locked(number):
            yield digest, begin, self._memory.find(digest, begin,
                                                   begin + _BUCKET)

    def _oldest(self, bucket):
        """Return the offset of the oldest call of a bucket."""
        taken = [*_TAKEN.iter_unpack(self._memory[bucket:bucket + _BUCKET])]
        return bucket + taken.index(min(taken)) * _ENTRY
