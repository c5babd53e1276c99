"""What the processes of a service share to tell how it is.

It is made before they are forked.
"""

import contextlib
import fcntl
import json
import os
import socket

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Bytes of a report, at most.
_LONGEST = 1 << 17


class Numbers:
    """Numbers of the processes of a service, from 0.

    A process has the lowest that no other one has, for as long as it lives;
    whoever takes its place has it then.
    """

    def __init__(self):
        # Such locks belong to a process, are not inherited by a fork, and are
        # gone with it.
        self._file = os.memfd_create('numbers of workers')
        self._process = self._number = None

    def own(self):
        """Return the number of this process."""
        if self._process != os.getpid():
            self._number = next(filter(self._claim, range(1 << 16)))
            self._process = os.getpid()
        return self._number

    def _claim(self, number):
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            return False
        return True


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
