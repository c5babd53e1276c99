"""Process settings that must be made before anything else."""

import ctypes
import os

#: From glibc's malloc.h: limits the number of arenas.
_M_ARENA_MAX = -8

#: Environment variables of glibc for the same setting.
_ARENA_MAX = 'MALLOC_ARENA_MAX'
_TUNABLES = 'GLIBC_TUNABLES'


def configure_process():
    """Set the umask, and have freed memory returned to the system.

    The umask 027 applies to files that are made from now on.

    glibc gives threads that allocate at the same time an arena each, and
    memory that is freed in an arena stays there: a large request would keep
    its memory once for each thread.  With one arena it does so once.  Python's
    interpreter lock keeps threads from waiting for the arena.
    MALLOC_ARENA_MAX in the environment, or glibc.malloc.arena_max in
    GLIBC_TUNABLES, takes precedence; other C libraries are not configured.
    """
    os.umask(os.umask(0o077) | 0o027)
    if _ARENA_MAX in os.environ or 'arena_max' in os.environ.get(
            _TUNABLES, ''):
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
