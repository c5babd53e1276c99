"""Answers of Placement that the workers of a service share.

Each worker keeps a copy of its own.  All would ask the same at the same time,
so the first one asks, the others wait, and take its answer.  Answers are kept
in memory that the workers inherit: nothing of it outlives the service, and a
worker that is killed opens its locks.
"""

import contextlib
import fcntl
import hashlib
import os
import pickle
import struct
import threading
import time
import typing

#: What is kept of an answer besides itself: whom it is of, when it was asked
#: for by time.monotonic(), how many seconds it took, and its size; 0 for none.
_HEADER = struct.Struct('=16sddQ')


class Answer(typing.NamedTuple):
    """What Placement has answered.

    began: when it was asked, as of time.monotonic().  took: seconds.
    """

    began: float
    took: float
    value: object


class SharedAnswers:
    """The newest answer to each of some questions.

    Made before the workers are forked, for all of them.  Safe for threads.

    questions: names.  workers: their number; answers to a single one are not
        kept.
    """

    def __init__(self, questions=(), workers=1, clock=time.monotonic):
        self.workers, self._clock = workers, clock
        self._kept = {question: _KeptAnswer() for question in questions
                      if workers > 1}

    def get(self, question, source, ask, after):
        """Return an Answer that was asked for after a moment.

        source: text that says whose answer it is; those of others are not
            taken.
        ask: function without arguments that asks.  What it raises is raised
            here, and not kept.
        """
        kept = self._kept.get(question)
        if kept is None:
            return self.asked(ask)
        with kept.alone():
            found = kept.read(source)
            if found is None or found.began <= after:
                found = self.asked(ask)
                kept.write(source, found)
            return found

    def asked(self, ask):
        """Return an Answer to this worker alone."""
        began = self._clock()
        value = ask()
        return Answer(began, self._clock() - began, value)


class _KeptAnswer:
    """An answer in memory that processes share."""

    def __init__(self):
        self._file = os.memfd_create('answer of placement')
        # Locks of a file are between processes, and this between threads.
        self._lock = threading.Lock()

    def __del__(self):
        os.close(self._file)

    @contextlib.contextmanager
    def alone(self):
        """Have it alone for a block."""
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def read(self, source):
        """Return the Answer, or None."""
        header = os.pread(self._file, _HEADER.size, 0)
        if len(header) < _HEADER.size:
            return None
        of, began, took, size = _HEADER.unpack(header)
        if not size or of != _digest(source):
            return None
        value = os.pread(self._file, size, _HEADER.size)
        # Only this service's own workers can write there.
        return Answer(began, took, pickle.loads(value))  # noqa: S301

    def write(self, source, answer):
        """Keep an Answer in place of the last one."""
        value = pickle.dumps(answer.value, pickle.HIGHEST_PROTOCOL)
        # The header comes last: whoever is killed leaves none.
        os.ftruncate(self._file, 0)
        _write_all(self._file, value, _HEADER.size)
        os.pwrite(self._file, _HEADER.pack(
            _digest(source), answer.began, answer.took, len(value)), 0)


def _write_all(file, data, at):
    left = memoryview(data)
    while left:
        written = os.pwrite(file, left, at)
        left, at = left[written:], at + written


def _digest(source):
    return hashlib.blake2b(source.encode(), digest_size=16).digest()
