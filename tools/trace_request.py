#!/usr/bin/env python3
"""Print the files that one request passes through, and the lines it runs.

    python -m tools.trace_request [--driver NAME] [--hosts N]

A scheduler without a broker is put together on a made-up cloud in an SQLite
file, by default of 10 hosts that are all up.  Two calls as a conductor sends
them (``benchmarks/request.json``) warm it up; the third is traced in its own
thread, from the door to the reply.  A file counts as entered when a function
of it is called; the rules, each a file of its own, are counted apart.  The
*deciding part* is what ``SchedulingAttempt.place`` and ``selections`` enter,
without the rules, what these share, and the vocabulary in ``objects/``.
"""

import argparse
import collections
import contextlib
import pathlib
import re
import sys
import tempfile

from benchmarks import bed
import nova_sched
from nova_sched import conf as config
from nova_sched import context
from nova_sched.cloud import fake
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.observe import recorder
from nova_sched.scheduler import driver
from nova_sched.scheduler import manager
from nova_sched.scheduler.attempt import SchedulingAttempt
from nova_sched.scheduler.candidates import CandidateSource

PACKAGE = pathlib.Path(nova_sched.__file__).parent
#: Where an attempt begins and ends.
_DECIDING = {SchedulingAttempt.place.__code__,
             SchedulingAttempt.selections.__code__}
_RULES = ('scheduler/filters/', 'scheduler/weights/')
_SHARED = re.compile(r'rules/(?!ranking|narrowing|limits)')


class Trace:
    """The lines that this thread runs within ``recording``.

    files: {path within the package: set of line numbers}.
    deciding: those of them that an attempt ran.
    """

    def __init__(self):
        self.files = collections.defaultdict(set)
        self.deciding = collections.defaultdict(set)
        self._attempts = 0

    @contextlib.contextmanager
    def recording(self):
        """Record what runs within the block."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame, event, arg):
        path = pathlib.Path(frame.f_code.co_filename)
        if PACKAGE not in path.parents:
            return None
        name = str(path.relative_to(PACKAGE))
        is_attempt = frame.f_code in _DECIDING
        self._attempts += is_attempt

        def line(frame, event, arg):
            if event == 'line':
                self.files[name].add(frame.f_lineno)
                if self._attempts:
                    self.deciding[name].add(frame.f_lineno)
            elif event == 'return':
                self._attempts -= is_attempt
            return line
        return line


def counted(files):
    """Return the files of the deciding part that count: sorted list."""
    return sorted(name for name in files if not (
        name.startswith((*_RULES, 'objects/')) or _SHARED.match(name)))


def traced(driver_name, hosts):
    """Return the Trace of a call that the named driver answers."""
    with tempfile.TemporaryDirectory() as directory:
        conf = config.new_conf([], [])
        conf.set_override('connection', f'sqlite:///{directory}/cloud.sqlite',
                          'database')
        conf.set_override('driver', driver_name, 'scheduler')
        schema.sync(conf)
        database = engine.database(conf)
        fake.FakeCloud(database.engine, hosts).create()
        database.close()
        made = driver.load_driver(conf)
        made.start()
        door = manager.SchedulerManager(
            made, CandidateSource(conf, made), recorder.Recorder())
        trace = Trace()
        for _ in range(2):
            _ask(door)
        with trace.recording():
            _ask(door)
        made.stop()
        return trace


def _ask(door):
    door.select_destinations(context.RequestContext(), **bed.request(1))


def main(args=None):
    """Trace a request, print its files, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--driver', default='filter_scheduler')
    parser.add_argument('--hosts', type=int, default=10)
    options = parser.parse_args(args)
    trace = traced(options.driver, options.hosts)
    deciding = counted(trace.deciding)
    for name, lines in sorted(trace.files.items()):
        print(f'{len(lines):5}  {"*" if name in deciding else " "} {name}')
    rules = [name for name in trace.files if name.startswith(_RULES)]
    print(f'{len(trace.files) - len(rules)} files entered, and {len(rules)} '
          f'rules; {sum(map(len, trace.files.values()))} lines run')
    print(f'{len(deciding)} files in the deciding part (*), '
          f'{sum(len(trace.deciding[name]) for name in deciding)} lines run')
    return 0


if __name__ == '__main__':
    sys.exit(main())
