"""The channel of health reports between processes, created before the fork."""

import contextlib
import json
import socket

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Maximum number of bytes of a report.
_LONGEST = 1 << 17


class Channel:
    """A datagram channel from the workers to the health process.

    Senders never wait: a report is lost if the channel is full.
    """

    def __init__(self):
        self._reader, self._writer = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_DGRAM)
        self._writer.setblocking(False)

    def send(self, report):
        """Send a report, a dict for JSON."""
        try:
            self._writer.send(json.dumps(report).encode())
        except OSError as error:
            LOG.debug('A health report is lost: %s', error)

    def receive(self, seconds):
        """Return the next report; None if there is none within a time."""
        self._reader.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            return json.loads(self._reader.recv(_LONGEST))
        return None
