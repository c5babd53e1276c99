#!/usr/bin/env python3
"""Print the files that one request enters, and the calls that it makes.

    python -m tools.trace_request [--without-placement]

A scheduler service of four workers, as it is configured by default, is put
together in this process: the broker is oslo.messaging's ``fake://``, the
database an SQLite file with ten hosts that are all up, and Placement a server
that knows their resource providers.  Requests of one instance, as a conductor
sends them (``benchmarks/request.json``), are passed to its
``SchedulerManager.select_destinations``, each with another flavor.  The first
two warm up imports and caches.  Of the others, which are traced in the thread
that answers them, the one with the fewest calls counts: now and then a request
waits for another thread, or does what is due once a second.

A *call* is one entry of a function of ``nova_sched`` that a ``def`` makes.
Comprehensions, generator expressions and lambdas are none, and a generator is
one, however often it is resumed, so each version of Python counts the same.
A *hop* is a call from another file.  A file is entered when a function of it
is called; the rules, each filter and weigher a file, are counted apart.
"""

import argparse
import collections
import contextlib
import copy
import datetime
import dis
import inspect
import pathlib
import sys
import tempfile

from oslo_utils import timeutils

from benchmarks import bed
import nova_sched
from nova_sched import conf as config
from nova_sched import context
from nova_sched import service
from nova_sched.cloud import fake
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders import http_placement
from tests.builders import http_providers
from tests.builders.waiting import until

PACKAGE = pathlib.Path(nova_sched.__file__).parent
RULES = ('scheduler/filters/', 'scheduler/weights/')
WORKERS, HOSTS, WARM_UP, TRACED = 4, 10, 2, 5

_OPTIONS = """
[DEFAULT]
transport_url = fake://
host = traced
state_path = {directory}
[database]
connection = sqlite:///{directory}/cloud.sqlite
"""
_PLACEMENT = """
[placement]
auth_type = none
endpoint_override = {url}
"""


class Trace:
    """The calls of this thread within ``recording``.

    package: directory of the files that count.

    calls: list of (file of the caller, file, function), the function as a
        code object and files as text, relative to package; the caller is the
        nearest frame of the package, None for the outermost call.
    """

    def __init__(self, package=PACKAGE):
        self.calls = []
        self._prefix = f'{package}/'

    @contextlib.contextmanager
    def recording(self):
        """Record the calls of the block."""
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(before)

    @property
    def files(self):
        """The number of calls by file, rules included: Counter."""
        return collections.Counter(name for _, name, _ in self.calls)

    @property
    def figures(self):
        """The numbers of files, rules, functions, calls and hops: dict."""
        rules = sum(name.startswith(RULES) for name in self.files)
        return {
            'files': len(self.files) - rules, 'rules': rules,
            'functions': len({code for _, _, code in self.calls}),
            'calls': len(self.calls),
            'hops': sum(caller not in (None, name)
                        for caller, name, _ in self.calls)}

    def _note(self, frame, event, arg):
        if event != 'call' or not self._is_call(frame):
            return
        caller = frame.f_back
        while caller is not None and self._file(caller) is None:
            caller = caller.f_back
        self.calls.append((caller and self._file(caller), self._file(frame),
                           frame.f_code))

    def _is_call(self, frame):
        code = frame.f_code
        if (self._file(frame) is None or code.co_name.startswith('<')
                # The body of a class.
                or not code.co_flags & inspect.CO_OPTIMIZED):
            return False
        return not code.co_flags & inspect.CO_GENERATOR or _begins(frame)

    def _file(self, frame):
        """Return the file of a frame, None outside of the package."""
        path = frame.f_code.co_filename
        if not path.startswith(self._prefix):
            return None
        return path.removeprefix(self._prefix)


def _begins(frame):
    """Return whether a generator is entered, neither resumed nor closed."""
    opcode, kind = frame.f_code.co_code[frame.f_lasti:][:2]
    return opcode == dis.opmap['RESUME'] and kind & 3 == 0


def traced(placement=True):
    """Return the Trace of a request.

    placement: whether Placement offers hosts, and takes claims.
    """
    with _service(placement) as scheduler:
        traces = [_answered(scheduler, number)
                  for number in range(WARM_UP + TRACED)]
    return min(traces[WARM_UP:], key=lambda trace: len(trace.calls))


@contextlib.contextmanager
def _service(placement):
    """Run a SchedulerService, whose copy of Placement is complete."""
    with (tempfile.TemporaryDirectory() as directory,
          http_placement.placement() as server):
        text = _OPTIONS + (_PLACEMENT if placement else '')
        path = pathlib.Path(directory) / 'traced.conf'
        path.write_text(text.format(directory=directory, url=server.url))
        conf = config.new_conf([], [str(path)])
        _make_cloud(conf, server)
        scheduler = service.SchedulerService(conf, WORKERS)
        scheduler.start()
        try:
            if placement:
                source = scheduler.candidate_source
                until(lambda: source.mirror_age is not None,
                      'a complete copy of Placement')
            yield scheduler
        finally:
            scheduler.stop()


def _make_cloud(conf, server):
    """Make hosts in a new database, and their providers in a Placement.

    Aggregates are a day old: new ones are read again with each request.
    """
    schema.sync(conf)
    database = engine.database(conf)
    fake.FakeCloud(database.engine, HOSTS).create()
    providers = http_providers.Providers(server)
    with database.writing() as connection:
        for table in (tables.aggregates, tables.aggregate_hosts,
                      tables.aggregate_metadata):
            connection.execute(table.update().values(
                created_at=timeutils.utcnow() - datetime.timedelta(1)))
        for node in connection.execute(tables.compute_nodes.select()):
            providers.add(
                node.uuid, node.vcpus, traits=['OWNER_NOVA'], others={
                    'MEMORY_MB': node.memory_mb, 'DISK_GB': node.local_gb})
    database.close()


def _answered(scheduler, number):
    """Return the Trace of a request to a SchedulerService.

    number: of the request, from which its flavor follows.
    """
    call, trace = copy.deepcopy(bed.request(1)), Trace()
    flavor = call['spec_obj']['nova_object.data']['flavor']
    flavor['nova_object.data'] |= {
        'id': number + 1, 'flavorid': f'traced-{number}',
        'name': f'traced.{number}', 'memory_mb': 16 + number}
    ctxt = context.RequestContext()
    with trace.recording():
        scheduler._manager.select_destinations(ctxt, **call)
    return trace


def main(args=None):
    """Trace a request, print its files, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--without-placement', action='store_true',
                        help='trace a request that Placement plays no part in')
    options = parser.parse_args(args)
    trace = traced(not options.without_placement)
    for name, calls in sorted(trace.files.items()):
        print(f'{calls:5} calls  {name}')
    print('{files} files and {rules} rules entered, {functions} functions; '
          '{calls} calls, {hops} hops between files'.format(**trace.figures))
    return 0


if __name__ == '__main__':
    sys.exit(main())
