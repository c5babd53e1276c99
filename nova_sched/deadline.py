"""Deadlines, and functions that are given up when theirs is over.

A thread that waits for a hung server cannot be cancelled, but nobody has to
wait for the thread.
"""

from concurrent import futures
import threading
import time

from nova_sched import exception


class DeadlineExceeded(exception.NovaSchedException):
    """A function has not ended in time."""


class Deadline:
    """A moment by which something must be over.

    seconds: from now on.  clock: function that gives seconds.
    """

    def __init__(self, seconds, clock=time.monotonic):
        self._end, self._clock = clock() + seconds, clock

    def left(self):
        """Return the seconds that are left; 0 or less when it is over."""
        return self._end - self._clock()


class Call:
    """A function that runs in a daemon thread, and has so many seconds.

    name: of the thread.
    """

    def __init__(self, seconds, function, *args, name='call'):
        self.function, self._seconds = function, seconds
        self._deadline, self._future = Deadline(seconds), futures.Future()
        threading.Thread(target=self._run, args=args, name=name,
                         daemon=True).start()

    def _run(self, *args):
        try:
            self._future.set_result(self.function(*args))
        except BaseException as error:
            self._future.set_exception(error)

    def left(self):
        """Return the seconds that it has left; 0 or less when it has none."""
        return self._deadline.left()

    def result(self):
        """Return what the function returns, or raise what it raises.

        Raises DeadlineExceeded when it has not ended in time.
        """
        futures.wait([self._future], max(0, self._deadline.left()))
        if not self._future.done():
            raise DeadlineExceeded(f'no answer within {self._seconds} seconds')
        return self._future.result()


def run_within(seconds, function, *args, name='call'):
    """Return what a function returns within so many seconds; see Call."""
    return Call(seconds, function, *args, name=name).result()
