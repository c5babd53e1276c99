"""The floor: an RPC server that does no work and returns None.

Runs as a separate process: ``python -m benchmarks.floor TRANSPORT_URL``.
"""

import signal
import sys
import threading

import oslo_messaging as messaging

from nova_sched import conf as config

TOPIC = 'floor'


class Echo:
    """An endpoint with one empty method."""

    target = messaging.Target(version='1.0')

    def echo(self, ctxt, **carried):
        """Return None for any arguments."""


def main(url):
    """Serve until SIGTERM."""
    conf = config.new_conf([], [])
    conf.set_override('transport_url', url)
    server = messaging.get_rpc_server(
        messaging.get_rpc_transport(conf),
        messaging.Target(topic=TOPIC, server='floor'), [Echo()],
        executor='threading')
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    server.start()
    stop.wait()
    server.stop()
    server.wait()


if __name__ == '__main__':
    main(sys.argv[1])
