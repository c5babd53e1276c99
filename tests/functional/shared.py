"""Results computed once a test run and shared by parallel pytest workers."""

import fcntl
import os
import pathlib
import pickle


def folder():
    """The folder of the results, which is removed when the run ends."""
    return pathlib.Path(os.environ['NOVA_SCHED_TEST_SHARED'])


def once(name, make):
    """Return the result of ``make``, which is called once a test run.

    name: of the file of the pickled result.
    """
    path, unfinished = folder() / name, folder() / f'{name}.part'
    with (folder() / f'{name}.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished.write_bytes(pickle.dumps(make()))
            unfinished.rename(path)
    return pickle.loads(path.read_bytes())
