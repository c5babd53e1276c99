"""Measures a daemon that gets messages with random bytes.

    tools/with-services.sh python -m benchmarks.raw_messages --messages 100000

Bodies are random bytes, or captured messages with some changed bytes.  Half of
the messages also have properties with changed bytes.  They go to the shared
queue, the host's own and the fanout.  After each hundred a good call must be
answered.  Rows at regular intervals have the resources of the two workers.
"""

import argparse
import random
import tempfile
import time

from benchmarks import tables
from benchmarks import workers
from tests.builders import poison
from tests.functional import broker
from tests.functional import captures
from tests.functional import poisoner

_ROUND = 100
_WAYS = (('nova', 'scheduler'), ('nova', 'scheduler.sched1'),
         ('scheduler_fanout', ''))


def _body(rng, bodies):
    """Return random bytes, or a captured message with some changed bytes."""
    if rng.random() < 0.3:
        return rng.randbytes(rng.choice((0, 1, 10, 1000, 100_000)))
    return _changed(rng, rng.choice(bodies))


def _changed(rng, octets):
    octets = bytearray(octets)
    for _ in range(rng.choice((0, 1, 1, 2, 10))):
        if octets:
            octets[rng.randrange(len(octets))] = rng.randrange(256)
    return bytes(octets)


def _message(rng, bodies):
    items = list(poison.ITEMS.values())
    message = poison.message(_body(rng, bodies), headers={
        b'x-odd': rng.choice(items)})
    if rng.random() < 0.5:
        # Keep all lengths: else the broker ends the connection.
        message.octets = {
            bit: _within(rng, octets) for bit, octets
            in message.octets.items()}
    return message


def _within(rng, octets):
    """Return a short text with some changed bytes; other values unchanged."""
    if octets and len(octets) == octets[0] + 1:
        return octets[:1] + _changed(rng, octets[1:])
    return octets


def _measure(args, directory):
    rng = random.Random(args.seed)
    bodies = [captures.load(name)['request']['body_raw'].encode()
              for name in captures.names('34')]
    good = captures.load('34-simple-flavor')['request']
    with captures.open_stage(
            directory, nova_sched__pick_lifetime=10) as stage:
        daemon = stage.daemon(workers=2)
        before = daemon.workers
        publisher = poisoner.Poisoner(stage.transport_url)
        tables.head('messages', 'refused by the broker', 'slowest s',
                           *workers.RESOURCES)
        with broker.wire(stage.transport_url) as wire:
            slowest = 0.0
            for number in range(1, args.messages + 1):
                publisher.publish('', _message(rng, bodies),
                                  *rng.choice(_WAYS))
                if number % _ROUND == 0:
                    began = time.monotonic()
                    _, reply = wire.call(good)
                    slowest = max(slowest, time.monotonic() - began)
                    assert not reply['decoded']['oslo.message']['failure']
                if number % args.every == 0:
                    tables.row(
                        number, len(publisher.refused), f'{slowest:.2f}',
                        *workers.resources(daemon))
                    slowest = 0.0
        publisher.close()
        assert daemon.workers == before, 'a worker was replaced'
        print('Reconnected:', len(daemon.lines('Reconnected')), ' tracebacks:',
              len(daemon.lines('Traceback')))


def _arguments():
    parser = argparse.ArgumentParser(prog='raw_messages', description=__doc__)
    parser.add_argument('--messages', type=int, default=100_000)
    parser.add_argument('--every', type=int, default=10_000,
                        help='messages between two rows')
    parser.add_argument('--seed', default='34')
    return parser.parse_args()


def main():
    """Send the messages and print the table."""
    args = _arguments()
    with tempfile.TemporaryDirectory() as directory:
        _measure(args, directory)


if __name__ == '__main__':
    main()
