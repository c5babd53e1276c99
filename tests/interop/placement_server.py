"""One process of a Placement: runs on the Python of Nova's environment.

    python placement_server.py DESCRIPTOR THREADS

DESCRIPTOR: of a listening socket, which processes may share.
"""

import socket
import sys

from placement.wsgi import api
import waitress

#: Printed once it accepts connections.
SERVES = 'Placement takes connections'

if __name__ == '__main__':
    descriptor, threads = map(int, sys.argv[1:])
    server = waitress.create_server(
        api.application, sockets=[socket.socket(fileno=descriptor)],
        threads=threads,
        # Clients keep their connections open.
        connection_limit=1000)
    print(SERVES, flush=True)    # noqa: T201
    server.run()
