"""Measures a daemon's resources during many requests of all kinds.

    tools/with-services.sh python -m benchmarks.soak --requests 200000

One worker with a cloud of 1,000 hosts gets valid and invalid calls of real
conductors of two releases without a pause.  Rows at regular intervals have the
resources of its process.
"""

import argparse
import collections
import dataclasses
import json
import logging
import os
import random
import signal
import tempfile
import threading
import time

import psutil

from benchmarks import tables
from tests.functional import broker
from tests.functional import captures
from tests.functional import stage as stages

_HEAD = ('requests', 'calls/s', 'slowest s', 'RSS MiB', 'threads',
         'descriptors', 'in error')


@dataclasses.dataclass
class Tally:
    """The results of the calls so far.

    ends: result, 'hosts' or the class of an error -> number of calls.
    slowest: duration of the slowest call since it was set to 0, in seconds.
    """

    ends: collections.Counter = dataclasses.field(
        default_factory=collections.Counter)
    slowest: float = 0.0

    @property
    def count(self):
        return sum(self.ends.values())

    def add(self, reply, seconds):
        """Count a reply by its inner message."""
        failure = json.loads(reply['failure'] or '{}')
        self.ends[failure.get('class', 'hosts')] += 1
        self.slowest = max(self.slowest, seconds)


def _call(url, number, tally, max_calls):
    """Call until all callers together have made ``max_calls`` calls."""
    calls = [captures.load(name)['request'] for era in captures.ERAS
             for name in captures.names(era, captures.is_call)]
    rng = random.Random(number)
    with broker.wire(url) as wire:
        while tally.count < max_calls:
            began = time.monotonic()
            _, reply = wire.call(rng.choice(calls))
            tally.add(reply['decoded']['oslo.message'],
                      time.monotonic() - began)


def _watch(worker, tally, args):
    """Print a row after each ``every`` calls."""
    tables.head(*_HEAD)
    done, began = 0, time.monotonic()
    while done < args.requests:
        time.sleep(0.01)
        if tally.count < min(done + args.every, args.requests):
            continue
        now = time.monotonic()
        tables.row(
            tally.count, f'{(tally.count - done) / (now - began):.0f}',
            f'{tally.slowest:.2f}', worker.memory_info().rss >> 20,
            worker.num_threads(), worker.num_fds(),
            tally.count - tally.ends['hosts'] - tally.ends['NoValidHost'])
        done, began, tally.slowest = tally.count, now, 0.0


def _reload(daemon, seconds):
    """Reload a daemon's configuration at intervals."""
    while True:
        time.sleep(seconds)
        daemon.signal(signal.SIGHUP)


def _arguments():
    parser = argparse.ArgumentParser(prog='soak', description=__doc__)
    parser.add_argument('--requests', type=int, default=200_000)
    parser.add_argument('--every', type=int, default=10_000,
                        help='requests between two rows')
    parser.add_argument('--callers', type=int, default=8)
    parser.add_argument('--hosts', type=int, default=1_000)
    parser.add_argument('--reload-every', type=float, metavar='SECONDS',
                        help='seconds between two SIGHUPs; none by default')
    parser.add_argument('--driver', default='filter_scheduler')
    return parser.parse_args()


def _measure(args, directory):
    stage = stages.Stage(
        directory, os.environ['NOVA_SCHED_TEST_RABBIT_URL'],
        os.environ['NOVA_SCHED_TEST_MYSQL_URL'],
        scheduler__driver=args.driver, DEFAULT__control_exchange='nova',
        DEFAULT__host='sched1',
        # Otherwise instances in flight would soon fill the cloud.
        nova_sched__pick_lifetime=10)
    try:
        stage.cloud(args.hosts)
        daemon, tally = stage.daemon(), Tally()
        callers = [threading.Thread(
            target=_call, daemon=True,
            args=(stage.transport_url, number, tally, args.requests))
            for number in range(args.callers)]
        for caller in callers:
            caller.start()
        if args.reload_every:
            threading.Thread(target=_reload, args=(daemon, args.reload_every),
                             daemon=True).start()
        _watch(psutil.Process(daemon.workers[0]), tally, args)
        for caller in callers:
            caller.join()
        print('\nHow they ended:', dict(tally.ends.most_common()))
    finally:
        stage.close()


def main():
    """Send the calls and print the table."""
    logging.disable(logging.CRITICAL)
    args = _arguments()
    with tempfile.TemporaryDirectory() as directory:
        _measure(args, directory)


if __name__ == '__main__':
    main()
