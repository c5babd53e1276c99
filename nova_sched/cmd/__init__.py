"""The scripts: each imports its command, and runs it.

What is imported is there to stay.  The rounds in which the garbage collector
looks through it take a quarter of the time that a command needs to start, so
there are none until all is imported.
"""

import gc
import importlib
import signal


def run_scheduler():
    """Run ``nova-sched``, and return its exit status.

    SIGHUP waits until the service looks for it; imports take seconds, and
    start threads.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    return _imported('nova_sched.cmd.scheduler').main()


def run_manage():
    """Run ``nova-sched-manage``, and return its exit code."""
    return _imported('nova_sched.cmd.manage').main()


def _imported(name):
    """Return a module, with all that it imports kept out of later rounds."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()
