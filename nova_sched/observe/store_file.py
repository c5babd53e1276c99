"""The file of the store of decisions, and what SQLite has beside it."""

import contextlib
import fcntl
import os

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: How SQLite fails where the file is not what was written.
_DAMAGE = ('file is not a database', 'database disk image is malformed',
           'malformed database schema', 'no such table')


def is_damaged(error):
    """Return whether an error says that the file is not what was written."""
    return any(words in str(error) for words in _DAMAGE)


def is_locked(error):
    """Return whether an error says that another process writes for long."""
    return 'locked' in str(error)


class StoreFile:
    """The file at a path, a text, that several workers write."""

    def __init__(self, path):
        self.path = path
        # The os.stat_result of the file that was there last.
        self._status = None

    def make(self):
        """Make it, unless it is there, for the service's group alone.

        The requests in it are nobody else's.  Raises OSError.
        """
        file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o640)
        try:
            self._status = os.fstat(file)
            if self._status.st_uid == os.geteuid():
                os.fchmod(file, 0o640)
        finally:
            os.close(file)

    def log_bytes(self):
        """Return the size of SQLite's log, which readers keep there."""
        try:
            return os.path.getsize(f'{self.path}-wal')
        except FileNotFoundError:
            return 0

    def move_aside(self, damage):
        """Move it aside, unless another worker has another one there by now.

        damage: the error that says it is damaged.
        No connection of this process is open, for its locks would be lost.
        Raises OSError.
        """
        aside = f'{self.path}.damaged'
        with open(self.path, 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX)    # until it is closed
            if not (self._is_at(file.fileno()) and self._is_at(self.path)):
                return
            # The file itself comes last: whoever makes another one has made
            # what is beside it.
            for beside in ('-wal', '-shm', ''):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f'{aside}{beside}')
                with contextlib.suppress(FileNotFoundError):
                    os.rename(f'{self.path}{beside}', f'{aside}{beside}')
        LOG.warning('The store of decisions is damaged and begins anew; what '
                    'can be read of it is in %(path)s: %(error)s',
                    {'path': aside, 'error': damage})

    def _is_at(self, place):
        """Return whether a path or a descriptor is of that file."""
        return os.path.samestat(os.stat(place), self._status)
