"""Measures a worker that gets large messages faster than it can answer.

    tools/with-services.sh python -m benchmarks.flood

All messages are sent at once, while another caller makes good calls without
a pause.  A row for each kind of message has the number of answers, the seconds
until the last one, the worker's peak memory, and the times of the good calls.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import threading
import time

from benchmarks import tables
from tests.functional import broker
from tests.functional import captures

#: Seconds that a flood may take.
_PATIENCE = 300


def _text(data, size):
    """Put long texts into the image."""
    properties = data['image']['nova_object.data']['properties']
    properties['nova_object.data'] |= {
        f'os_text_{number}': 'x' * 250_000
        for number in range(int(size // 250_000))}


def _hints(data, size):
    """Add many hints."""
    data['scheduler_hints'] = {'note': [
        f'{number:0150d}' for number in range(int(size // 154))]}


def _members(data, size):
    """Add an unused field with many parts."""
    data['unknown'] = [[number] for number in range(
        min(140_000, int(size // 10)))] + ['x' * (int(size) - 1_400_000)]


def _refused(data, size):
    """Add more hints than the limit."""
    data['scheduler_hints'] = {f'{number:020d}': 'x' for number in range(
        int(size // 30))}


#: Content of the messages -> function of a RequestSpec's data and bytes.
KINDS = {'text': _text, 'hints': _hints, 'parts': _members,
         'refused': _refused}


class _Good(threading.Thread):
    """A caller that makes good calls without a pause, until it is ended."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self._url, self.ended, self.seconds = url, threading.Event(), []

    def run(self):
        good = captures.load('34-simple-flavor')['request']
        with broker.wire(self._url) as wire:
            while not self.ended.is_set():
                began = time.monotonic()
                wire.call(good, _PATIENCE)
                self.seconds.append(time.monotonic() - began)


def _flood(url, fill, args):
    """Send a flood; return the number of answers, and the seconds."""
    with broker.wire(url) as wire:
        message = wire.fresh(captures.load('34-simple-flavor')['request'])
        inner = message['body']['oslo.message']
        fill(inner['args']['spec_obj']['nova_object.data'],
             args.mb * 1_000_000)
        made, ids = json.dumps(inner), []
        began = time.monotonic()
        for number in range(args.messages):
            ids.append(f'{number:032x}')
            text = made
            for name, value in (('_msg_id', ids[-1]),
                                ('_unique_id', ids[-1][::-1])):
                text = text.replace(inner[name], value)
            wire.send(message | {'body': message['body'] | {
                'oslo.message': text}})
        found = wire.replies(ids, _PATIENCE)
        return len(found), time.monotonic() - began


def _peak_mb(pid):
    """Return the peak memory of a process in MiB."""
    [line] = [line for line in pathlib.Path(
        f'/proc/{pid}/status').read_text().splitlines()
        if line.startswith('VmHWM')]
    return int(line.split()[1]) >> 10


def _measure(args, directory, kind):
    with captures.open_stage(
            directory, nova_sched__pick_lifetime=10) as stage:
        daemon = stage.daemon()
        good = _Good(stage.transport_url)
        good.start()
        answered, seconds = _flood(stage.transport_url, KINDS[kind], args)
        good.ended.set()
        good.join()
        [worker] = daemon.workers
        tables.row(
            kind, f'{answered} of {args.messages}', f'{seconds:.0f}',
            _peak_mb(worker), f'{statistics.median(good.seconds):.2f}',
            f'{max(good.seconds):.2f}', len(good.seconds))


def main():
    """Print a row for each kind."""
    parser = argparse.ArgumentParser(prog='flood', description=__doc__)
    parser.add_argument('--messages', type=int, default=300)
    parser.add_argument('--mb', type=float, default=1.5)
    parser.add_argument('--kinds', default=','.join(KINDS))
    args = parser.parse_args()
    tables.head('filled with', 'answered', 's', 'peak MB',
                       'good calls p50 s', 'longest s', 'good calls')
    for kind in args.kinds.split(','):
        with tempfile.TemporaryDirectory() as directory:
            _measure(args, directory, kind)


if __name__ == '__main__':
    main()
