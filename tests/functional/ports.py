"""Ports for servers of a test; run as a program it prints one."""

import os
import random
import socket

#: Each worker of pytest-xdist takes them from a thousand of its own, so that
#: none is free to two; what runs beside the workers from the first.
_FIRST, _EACH = 10000, 1000
_MOST_WORKERS = 18


def free_port():
    """A port that is free, and so is the one 20,000 above.

    RabbitMQ takes both, and that must be a port number, too.  Below 30,000 no
    outgoing connection gets in the way.
    """
    worker = os.environ.get('PYTEST_XDIST_WORKER', 'gw-1').removeprefix('gw')
    first = _FIRST + _EACH * ((int(worker) + 1) % (_MOST_WORKERS + 1))
    while True:
        port = random.randrange(first, first + _EACH)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(('127.0.0.1', port))
                other.bind(('127.0.0.1', port + 20000))
            except OSError:
                continue
            return port


if __name__ == '__main__':
    print(free_port())    # noqa: T201
