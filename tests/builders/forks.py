"""Processes forked from the test's process."""

import contextlib
import os
import select
import signal
import sys
import time


def in_child(function):
    """Call a function in a forked process; return its exit status.

    The function returns the status, 0 to 98; 99 if it raises; negative: the
    signal that ended it.
    """
    pid = os.fork()
    if not pid:
        try:
            os._exit(function() or 0)
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def is_killed_at(line, work, *files):
    """Call a function in a forked process that is killed at a line.

    line: number of the line, from 0.
    files: modules whose lines are counted; by default all.
    Returns whether it was killed, which is false if it has fewer lines.
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
    """Enter a context in a forked process, which is killed after the block.

    Yields its process id once it has entered.
    work: function that returns the context.
    meanwhile: function that is called repeatedly while the block waits.
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
    """Stop a process in a context (SIGSTOP) for a block."""
    with in_worker(work) as pid:
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
        yield
