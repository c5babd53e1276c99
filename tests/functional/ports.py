"""Ports for servers of a test; run as a program it prints one."""

import random
import socket


def free_port():
    """A port that is free, and so is the one 20,000 above.

    RabbitMQ takes both, and that must be a port number, too.  Below 30,000 no
    outgoing connection gets in the way.
    """
    while True:
        port = random.randint(10000, 29999)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(('127.0.0.1', port))
                other.bind(('127.0.0.1', port + 20000))
            except OSError:
                continue
            return port


if __name__ == '__main__':
    print(free_port())    # noqa: T201
