"""What is made once a test run, for all that run tests beside each other."""

import fcntl
import os
import pathlib
import pickle


def folder():
    """Where it is kept, which is gone when the run ends."""
    return pathlib.Path(os.environ['NOVA_SCHED_TEST_SHARED'])


def once(name, make):
    """What a function returned, which the first that asks for it calls.

    name: of the file that it is kept in.  make: function; what it returns is
    pickled.
    """
    path, unfinished = folder() / name, folder() / f'{name}.part'
    with (folder() / f'{name}.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished.write_bytes(pickle.dumps(make()))
            unfinished.rename(path)
    return pickle.loads(path.read_bytes())
