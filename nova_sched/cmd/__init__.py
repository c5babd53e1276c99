"""The entry points of the two programs: each imports its command and runs it.

The garbage collector is off while modules are imported: they stay in memory,
and looking through them takes a quarter of the start time of a command.
"""

import gc
import importlib
import signal


def run_scheduler():
    """Run ``nova-sched``, and return its exit status.

    SIGHUP is blocked until the service handles it; imports take seconds, and
    start threads.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    return _imported('nova_sched.cmd.scheduler').main()


def run_manage():
    """Run ``nova-sched-manage``, and return its exit code."""
    return _imported('nova_sched.cmd.manage').main()


def _imported(name):
    """Import a module, and exempt all imported objects from later collections.
    """
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()
