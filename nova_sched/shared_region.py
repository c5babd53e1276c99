"""Memory that the processes of a service share.

A region is made before the fork: the processes inherit it, and nothing of it
outlives them.  A process may be killed between any two writes; what it leaves
is valid for three reasons:

- Data counts by one word (or, in a table, by a key).  A writer writes data
  where no word counts it, or makes the word 0 first, and stores the word last.
  A word is eight aligned bytes, which the processor stores at once.  So the
  others find what was there before, or all of what is new.
- A lock between processes is a lock of the file (``lockf``), which the kernel
  releases when its process ends, however it does.
- A number that tells who lives is such a lock too, held for life.

A process may also be stopped while it holds a lock.  So no wait for a lock is
without a limit; each user says what it does without the lock.

Such locks belong to the process.  Threads need ``threads`` beside them, a
forked child inherits none, and all are lost when the process closes any
descriptor of the file.  So nothing else opens the file, and memory is mapped
once: a mapping holds a descriptor.
"""

import contextlib
import ctypes
import fcntl
import itertools
import mmap
import os
import threading
import time

#: Seconds that a process waits for a lock which others hold for microseconds.
PATIENCE = 0.1

#: Seconds between two tries to take such a lock.
PAUSE = 0.0003

#: Where the numbers of processes are locked: behind all other locks.
_NUMBERS = 1 << 40


def _brief_wait():
    """Return a function: whether PATIENCE seconds have not passed yet."""
    end = time.monotonic() + PATIENCE
    return lambda: time.monotonic() < end


class SharedRegion:
    """Memory for the processes that are forked from its maker.

    name: what the system calls it.  size: of ``memory``, bytes.

    WORDS: names of the words of a class.
    words: their values, as attributes: unsigned integers of 64 bits, 0 at
        first, each stored at once.
    memory: mmap, zeros at first; not there without a size.
    file: descriptor.  What is written from BEGIN on is ``memory``.
    number: of this process, once it has called ``own``.
    threads: threading.RLock for the threads of a process, to be taken before
        a lock between processes.
    """

    WORDS, BEGIN = (), mmap.ALLOCATIONGRANULARITY

    def __init__(self, name, size=0):
        self.file = os.memfd_create(name)
        os.ftruncate(self.file, self.BEGIN + size)
        header = type('Header', (ctypes.Structure,), {
            '_fields_': [(word, ctypes.c_uint64) for word in self.WORDS]})
        self.words = header.from_buffer(mmap.mmap(self.file, self.BEGIN))
        if size:
            self.memory = mmap.mmap(self.file, size, offset=self.BEGIN)
        self.threads = threading.RLock()
        self.number = self._process = None

    def __del__(self):
        os.close(self.file)

    def try_lock(self, number=0):
        """Take a lock, unless another process has it; return whether."""
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            return False
        return True

    def unlock(self, number=0):
        """Release a lock."""
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, number)

    @contextlib.contextmanager
    def locked(self, number=0, patience=_brief_wait, pause=PAUSE):
        """Hold a lock for a block; gives whether it is held.

        number: of the lock.
        patience: function, called where another process has the lock, which
            returns a function: whether to go on waiting for it.
        pause: seconds between two tries.
        """
        is_held = self.try_lock(number) or self._wait(number, patience(),
                                                      pause)
        try:
            yield is_held
        finally:
            if is_held:
                self.unlock(number)

    def _wait(self, number, is_waited_for, pause):
        is_held = False
        while not is_held and is_waited_for():
            time.sleep(pause)
            is_held = self.try_lock(number)
        return is_held

    def own(self, numbers=None):
        """Return the number of this process, which has it while it lives.

        numbers: iterable, of which it takes the first that no other process
            has; by default the lowest from 0.
        """
        if self._process != os.getpid():
            self.number = next(
                number for number in numbers or itertools.count()
                if self.try_lock(_NUMBERS + number))
            self._process = os.getpid()
        return self.number

    def lives(self, number):
        """Return whether a process has a number, in one that has its own."""
        if number == self.number:
            return True
        is_free = self.try_lock(_NUMBERS + number)
        if is_free:
            self.unlock(_NUMBERS + number)
        return not is_free
