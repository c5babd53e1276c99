"""Processes forked from that of a test."""

import contextlib
import os
import select
import signal
import sys
import time


def in_child(function):
    """Call a function in a process; return how that ends.

    That is what the function returns as exit status, 0 to 98, or 99 if it
    raises; or the signal that ends it, negative.
    """
    pid = os.fork()
    if not pid:
        try:
            os._exit(function() or 0)
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def is_killed_at(line, work, *files):
    """Call a function in a process that is killed at a line of it.

    line: number of the line, from 0.
    files: of the modules whose lines count; by default all.
    Returns whether it was killed; not if there are fewer lines.
    """
    lines = iter(range(line))

    def trace(frame, event, argument):
        if files and frame.f_code.co_filename not in files:
            return None
        if event == 'line' and next(lines, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    def traced():
        sys.settrace(trace)
        work()

    return in_child(traced) == -signal.SIGKILL


@contextlib.contextmanager
def in_worker(work, meanwhile=None):
    """Enter a context in a process, which stays in it until it is killed.

    Gives its process id once it has entered.
    work: function that returns the context.
    meanwhile: function that is called again and again until then.
    """
    done, tell = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            with work():
                os.write(tell, b'x')
                time.sleep(60)
        finally:
            os._exit(0)
    try:
        while meanwhile and not select.select([done], [], [], 0)[0]:
            meanwhile()
        assert os.read(done, 1) == b'x'
        yield pid
    finally:
        for each in (done, tell):
            os.close(each)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@contextlib.contextmanager
def stopped_in(work):
    """Have a process enter a context, and stop in it, for a block."""
    with in_worker(work) as pid:
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
        yield
