"""What the processes of a service share to tell how it is.

It is made before they are forked.
"""

import contextlib
import json
import socket

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Bytes of a report, at most.
_LONGEST = 1 << 17


class Channel:
    """What workers say how they are by, and the process that tells it hears.

    Nobody waits: what is not heard in time is not heard.
    """

    def __init__(self):
        self._hearing, self._saying = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_DGRAM)
        self._saying.setblocking(False)

    def say(self, report):
        """Say something that can be JSON."""
        try:
            self._saying.send(json.dumps(report).encode())
        except BlockingIOError:
            LOG.debug('Nobody hears how this process is')
        except OSError as error:
            LOG.debug('How this process is cannot be told: %s', error)

    def hear(self, seconds):
        """Return what is said next; None for nothing within a time."""
        self._hearing.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            return json.loads(self._hearing.recv(_LONGEST))
        return None
