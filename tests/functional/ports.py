"""Ports for servers of a test; run as a program it prints so many."""

import itertools
import os
import random
import socket
import sys

#: Each worker of pytest-xdist takes them from some of its own, so that none is
#: free to two; what runs beside the workers from the first.
_FIRST, _EACH = 10000, 145
_MOST_WORKERS = 18


def free_port():
    """A port that is free, and so is the one 20,000 above.

    RabbitMQ takes both, and that must be a port number, too.  Up to 32767 no
    outgoing connection gets in the way.  Each is given again after all others.
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
    """Yield the ports of this worker, again and again, from any of them."""
    worker = os.environ.get('PYTEST_XDIST_WORKER', 'gw-1').removeprefix('gw')
    first = _FIRST + _EACH * ((int(worker) + 1) % (_MOST_WORKERS + 1))
    begin = random.randrange(_EACH)
    for number in itertools.count(begin):
        yield first + number % _EACH


_ports = _of_this_process()

if __name__ == '__main__':
    print(*(free_port() for _ in range(int(sys.argv[1]))))    # noqa: T201
