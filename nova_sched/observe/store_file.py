"""The file of the decision store, and SQLite's files next to it."""

import contextlib
import fcntl
import os

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Errors of SQLite for a damaged file.
_DAMAGE = ('file is not a database', 'database disk image is malformed',
           'malformed database schema', 'no such table')


def is_damaged(error):
    """Return whether an error means that the file is damaged."""
    return any(words in str(error) for words in _DAMAGE)


class StoreFile:
    """The file at a path, a text, that several workers write."""

    def __init__(self, path):
        self.path = path
        # os.stat_result of the last known file.
        self._status = None

    def make(self):
        """Make the file, unless it exists; only the service's group may read.

        It holds requests of all projects.  Raises OSError.
        """
        file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o640)
        try:
            self._status = os.fstat(file)
            if self._status.st_uid == os.geteuid():
                os.fchmod(file, 0o640)
        finally:
            os.close(file)

    def log_bytes(self):
        """Return the size of SQLite's write-ahead log."""
        try:
            return os.path.getsize(f'{self.path}-wal')
        except FileNotFoundError:
            return 0

    def move_aside(self, damage):
        """Move the file aside, unless another worker has replaced it already.

        damage: the error by which the damage was found.
        This process must have no connection to the file: its locks would be
        lost.
        Raises OSError.
        """
        aside = f'{self.path}.damaged'
        with open(self.path, 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX)    # until it is closed
            if not (self._is_at(file.fileno()) and self._is_at(self.path)):
                return
            # The file itself comes last: a process that makes a new file also
            # makes the files next to it.
            for beside in ('-wal', '-shm', ''):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f'{aside}{beside}')
                with contextlib.suppress(FileNotFoundError):
                    os.rename(f'{self.path}{beside}', f'{aside}{beside}')
        LOG.warning('The decision store is damaged and replaced by an empty '
                    'one; the damaged file is kept as %(path)s: %(error)s',
                    {'path': aside, 'error': damage})

    def _is_at(self, place):
        """Return whether a path or a descriptor leads to that file."""
        return os.path.samestat(os.stat(place), self._status)
