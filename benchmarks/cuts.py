"""Measures a daemon while its connections to the broker are cut repeatedly.

    tools/with-services.sh python -m benchmarks.cuts --seconds 300

Callers with direct connections to the broker call at a steady rate, while all
connections of the daemon's two workers are cut each second.  Rows at regular
intervals have the results of the calls and the resources of both processes.
A call without an answer within a minute counts as lost.
"""

import argparse
import collections
import contextlib
import re
import tempfile
import threading
import time
import uuid

from benchmarks import tables
from benchmarks import workers
from tests.functional import broker
from tests.functional import captures

_HEAD = ('seconds', 'calls', 'answered', 'twice', 'decided twice',
         *workers.RESOURCES)
#: Seconds that a call may take.
_PATIENCE = 60
_WORKERS = 2


class Calls:
    """Calls at a steady rate; answers: _msg_id -> number of replies."""

    def __init__(self, url, rate):
        self._url, self._rate = url, rate
        self.sent, self.answers = 0, collections.Counter()
        self._call = captures.load('34-simple-flavor')['request']

    def run(self, over):
        """Call until an Event is set, and wait for the last answers."""
        with broker.wire(self._url) as wire:
            next_call = time.monotonic()
            while not over.is_set():
                message = wire.fresh(self._call)
                # Identifies its decisions in the log.
                message['body']['oslo.message']['_context_request_id'] = (
                    f'req-{uuid.uuid4()}')
                wire.send(message)
                self.sent += 1
                next_call += 1 / self._rate
                self._receive(wire, next_call - time.monotonic())
            self._receive(wire, _PATIENCE, once=True)

    def _receive(self, wire, seconds, once=False):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if once and len(self.answers) >= self.sent:
                left = min(left, 2)
                end = time.monotonic() + left
                once = False
            with contextlib.suppress(TimeoutError):
                inner = wire.receive(left)['decoded']['oslo.message']
                if inner.get('ending'):
                    self.answers[inner['_msg_id']] += 1


def _decided_twice(daemon):
    requests = collections.Counter(re.findall(
        r'(req-[0-9a-f-]+)[^\n]* placed: ', daemon.text))
    return sum(count > 1 for count in requests.values())


def _print(daemon, calls, began):
    tables.row(
        f'{time.monotonic() - began:.0f}', calls.sent, len(calls.answers),
        sum(count > 1 for count in calls.answers.values()),
        _decided_twice(daemon), *workers.resources(daemon))


def _measure(args, directory):
    with captures.open_stage(
            directory, nova_sched__pick_lifetime=10) as stage:
        door = stage.door_to_broker()
        door.open()
        daemon = stage.daemon(workers=_WORKERS,
                              DEFAULT__transport_url=door.url)
        calls, over = Calls(stage.transport_url, args.rate), threading.Event()
        caller = threading.Thread(target=calls.run, args=(over,))
        tables.head(*_HEAD)
        began = shown = time.monotonic()
        _print(daemon, calls, began)
        caller.start()
        while time.monotonic() - began < args.seconds:
            time.sleep(args.every)
            door.cut()
            if time.monotonic() - shown > args.row:
                shown = time.monotonic()
                _print(daemon, calls, began)
        over.set()
        caller.join()
        time.sleep(5)
        _print(daemon, calls, began)


def _arguments():
    parser = argparse.ArgumentParser(prog='cuts', description=__doc__)
    parser.add_argument('--seconds', type=float, default=300)
    parser.add_argument('--every', type=float, default=1,
                        help='seconds between two cuts')
    parser.add_argument('--rate', type=float, default=20,
                        help='calls a second')
    parser.add_argument('--row', type=float, default=30,
                        help='seconds between two rows')
    return parser.parse_args()


def main():
    """Cut the connections and print the table."""
    args = _arguments()
    with tempfile.TemporaryDirectory() as directory:
        _measure(args, directory)


if __name__ == '__main__':
    main()
