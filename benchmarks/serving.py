"""The daemon, which also writes the duration of each decision to a file.

    python -m benchmarks.serving FILE --config-file ...

FILE gets a line per request: milliseconds in ``select_destinations`` of the
caching driver, in its worker.
"""

import os
import sys
import time

from nova_sched.cmd import run_scheduler
from nova_sched.scheduler import caching_scheduler


def note_decisions(path):
    """Make each decision of the caching driver write its time to a file."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    driver = caching_scheduler.CachingScheduler
    decide = driver.select_destinations

    def timed(self, *args, **kwargs):
        begin = time.perf_counter()
        try:
            return decide(self, *args, **kwargs)
        finally:
            taken = (time.perf_counter() - begin) * 1000
            os.write(file, f'{taken:.4f}\n'.encode())

    driver.select_destinations = timed


if __name__ == '__main__':
    note_decisions(sys.argv.pop(1))
    sys.exit(run_scheduler())
