"""Which calls the workers of this service took of late.

A broker redelivers a call if it has not seen the acknowledgement, as where a
connection is cut and the acknowledgement lost with it.  The workers share a
table of the calls that they took, so that none is decided twice.
"""

import contextlib
import enum
import hashlib
import os
import struct
import time

from nova_sched.shared_region import SharedRegion

#: Seconds that a call is known for.
KEPT = 600

#: A call: when it was taken by time.monotonic(), by which worker, and whether
#: that has answered.  It comes after the digest of its id, by which it counts.
_CALL, _TAKEN = struct.Struct('=dI?3x'), struct.Struct('=16xd8x')
_DIGEST = 16
_ENTRY, _ANSWERED = _DIGEST + _CALL.size, _DIGEST + 12
#: Calls of a bucket, of which the oldest makes room, and buckets: 131,072
#: calls, 4 MiB.
_WAYS, _BUCKETS = 16, 1 << 13
_BUCKET = _WAYS * _ENTRY
#: Numbers for workers: random, so that none had the same one before.
_NUMBERS = iter(lambda: int.from_bytes(os.urandom(4)), None)


class Holder(enum.Enum):
    """Who took a call before."""

    THIS_WORKER = 'this worker'
    #: One that lives, or that has answered it.
    ANOTHER_WORKER = 'another worker'


class TakenCalls:
    """The calls that workers forked from the maker of this object took.

    A worker has a number for as long as it lives, which none has after it.

    Where a process is stopped while it has a bucket's lock, others go on
    without the lock: a call may then be decided twice, but none is left
    without an answer.
    """

    def __init__(self):
        self._region = SharedRegion('taken calls', _BUCKETS * _BUCKET)
        self._memory = self._region.memory

    def take(self, call_id):
        """Note that this worker takes a call.

        Returns None, or the Holder that has taken it before and has not ended
        without an answer.
        """
        with self._found(call_id) as (digest, bucket, at):
            worker = self._region.own(_NUMBERS)
            if at < 0:
                at = self._oldest(bucket)
            else:
                taken, holder, answered = _CALL.unpack_from(
                    self._memory, at + _DIGEST)
                if taken > time.monotonic() - KEPT and (
                        answered or self._region.lives(holder)):
                    return (Holder.THIS_WORKER if holder == worker
                            else Holder.ANOTHER_WORKER)
            # The digest comes last, and one that is half written is of no
            # call.
            self._memory[at + _DIGEST:at + _ENTRY] = _CALL.pack(
                time.monotonic(), worker, False)
            self._memory[at:at + _DIGEST] = digest
        return None

    def answered(self, call_id):
        """Note that a call of this worker is answered."""
        with self._found(call_id) as (_digest, _bucket, at):
            if at >= 0:
                _, holder, _ = _CALL.unpack_from(self._memory, at + _DIGEST)
                if holder == self._region.number:
                    self._memory[at + _ANSWERED] = True

    @contextlib.contextmanager
    def _found(self, call_id):
        """Lock the bucket of a call for a block.

        Gives the call's digest, and where its bucket and its entry begin; -1
        for no entry.
        """
        digest = hashlib.blake2b(call_id.encode(),
                                 digest_size=_DIGEST).digest()
        number = int.from_bytes(digest[:2]) % _BUCKETS
        begin = number * _BUCKET
        with self._region.threads, self._region.locked(number):
            yield digest, begin, self._memory.find(digest, begin,
                                                   begin + _BUCKET)

    def _oldest(self, bucket):
        """Return where the oldest call of a bucket begins."""
        taken = [*_TAKEN.iter_unpack(self._memory[bucket:bucket + _BUCKET])]
        return bucket + taken.index(min(taken)) * _ENTRY
