"""The settings of a process of this project, made before all else."""

import ctypes
import os

#: In malloc.h of glibc: how many arenas malloc may make.
_M_ARENA_MAX = -8

#: What an operator says about it, in glibc's words.
_ARENA_MAX = 'MALLOC_ARENA_MAX'
_TUNABLES = 'GLIBC_TUNABLES'


def configure_process():
    """Set the umask, and have memory given back to the system.

    Files that are made from now on have none of the rights that the umask
    027 takes; those that exist keep theirs.

    Each thread that is the first to allocate while another one does gets an
    arena of its own from glibc, and what is freed in an arena stays there: a
    large request takes its memory once a thread. With one arena it is taken
    once. Python's interpreter lock keeps threads from waiting for it.
    MALLOC_ARENA_MAX in the environment counts instead, as does
    glibc.malloc.arena_max in GLIBC_TUNABLES; other C libraries are left
    alone.
    """
    os.umask(os.umask(0o077) | 0o027)
    if _ARENA_MAX in os.environ or 'arena_max' in os.environ.get(
            _TUNABLES, ''):
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
