"""Ports for servers of a test; as a program it prints some."""

import itertools
import os
import random
import socket
import sys

#: Each worker of pytest-xdist has a range of its own; other processes take the
#: first range.
_FIRST, _EACH = 10000, 145
_MOST_WORKERS = 18


def free_port():
    """Return a free port whose number plus 20,000 is free, too.

    RabbitMQ uses both.  Outgoing connections use ports above 32767 only.
    Each port is returned again after all others.
    """
    while True:
        port = next(_ports)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(('127.0.0.1', port))
                other.bind(('127.0.0.1', port + 20000))
            except OSError:
                continue
            return port


def _of_this_process():
    """Yield the ports of this worker in a cycle with a random start."""
    worker = os.environ.get('PYTEST_XDIST_WORKER', 'gw-1').removeprefix('gw')
    first = _FIRST + _EACH * ((int(worker) + 1) % (_MOST_WORKERS + 1))
    begin = random.randrange(_EACH)
    for number in itertools.count(begin):
        yield first + number % _EACH


_ports = _of_this_process()

if __name__ == '__main__':
    print(*(free_port() for _ in range(int(sys.argv[1]))))    # noqa: T201
