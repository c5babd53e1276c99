"""Memory that the processes of a service share.

A region is created before the fork and inherited by the processes; it ends
with them.  A process may be killed between any two writes.  The region stays
valid for three reasons:

- Data is published by one word (or, in a table, by a key).  A writer writes
  data that no word refers to, or sets the word to 0 first, and stores the word
  last.  A word is eight aligned bytes, which the processor stores atomically.
  So readers find either the old data or all of the new data.
- A lock between processes is a file lock (``lockf``).  The kernel releases it
  when its process ends for whatever reason.
- The number of a live process is such a lock too, held until the process ends.

A process may also be stopped while it holds a lock.  Therefore every wait for
a lock has a limit, and each user handles the lack of the lock.

File locks belong to the process: threads also need ``threads``, a forked child
inherits no lock, and closing any descriptor of the file releases all locks.
Therefore nothing else opens the file, and memory is mapped only once, as a
mapping holds a descriptor.
"""

import contextlib
import ctypes
import fcntl
import itertools
import mmap
import os
import threading
import time

#: Seconds to wait for a lock that is usually held for microseconds.
PATIENCE = 0.1

#: Seconds between two attempts to take such a lock.
PAUSE = 0.0003

#: Offset of the locks that are process numbers, above all other locks.
_NUMBERS = 1 << 40


def waited_for(seconds):
    """Return a function: whether these seconds have not passed yet."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


class SharedRegion:
    """Memory shared by the processes that are forked from its creator.

    name: of the memory in the system.  size: bytes of ``memory``.

    WORDS: names of the words of a subclass.
    words: object with the words as attributes: unsigned 64-bit integers,
        initially 0, each stored atomically.
    memory: mmap, initially zeros; absent without a size.
    file: file descriptor; ``memory`` starts at BEGIN.
    number: of this process, once it has called ``own``.
    threads: threading.RLock between the threads of a process, to be taken
        before a lock between processes.
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
        """Take a lock and return True, unless another process holds it."""
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            return False
        return True

    def unlock(self, number=0):
        """Release a lock."""
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, number)

    @contextlib.contextmanager
    def locked(self, number=0, patience=lambda: waited_for(PATIENCE),
               pause=PAUSE):
        """Hold a lock for a block; yield whether it is held.

        number: of the lock.
        patience: function, called if another process holds the lock; it
            returns a function: whether to continue waiting.
        pause: seconds between two attempts.
        """
        is_held = self.try_lock(number)
        is_waited_for = None if is_held else patience()
        while not is_held and is_waited_for():
            time.sleep(pause)
            is_held = self.try_lock(number)
        try:
            yield is_held
        finally:
            if is_held:
                self.unlock(number)

    def own(self, numbers=None):
        """Return the number of this process, reserved until it ends.

        numbers: iterable; the first number that is not in use is taken.  By
            default the lowest number from 0.
        """
        if self._process != os.getpid():
            self.number = next(
                number for number in numbers or itertools.count()
                if self.try_lock(_NUMBERS + number))
            self._process = os.getpid()
        return self.number

    def lives(self, number):
        """Return whether a live process has a number.

        This process must have a number itself.
        """
        if number == self.number:
            return True
        is_free = self.try_lock(_NUMBERS + number)
        if is_free:
            self.unlock(_NUMBERS + number)
        return not is_free
