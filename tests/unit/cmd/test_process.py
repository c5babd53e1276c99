"""What a process sets before it does anything else."""

import ctypes
import os
import pathlib
import re
import stat
import subprocess
import sys

import pytest

from nova_sched.cmd import manage
from nova_sched.cmd import process

#: Allocates in eight threads at once; glibc then writes about each arena.
THREADS = """
import ctypes
import threading

from nova_sched.cmd import process
process.configure_process()

libc = ctypes.CDLL(None)
together = threading.Barrier(8)

def allocate():
    together.wait()
    libc.malloc(5000)
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_stats()
"""


def arenas(**environ):
    """How many arenas such a process has."""
    named = {name: value for name, value in os.environ.items()
             if name not in ('MALLOC_ARENA_MAX', 'GLIBC_TUNABLES')}
    run = subprocess.run(
        [sys.executable, '-c', THREADS], check=True, capture_output=True,
        text=True, env={**named, **environ})
    return len(re.findall(r'^Arena \d+:$', run.stderr, re.MULTILINE))


@pytest.mark.parametrize('environ', [
    {}, {'GLIBC_TUNABLES': 'glibc.malloc.check=3'}])
def test_threads_share_one_arena(environ):
    assert arenas(**environ) == 1


@pytest.mark.parametrize('environ', [
    {'MALLOC_ARENA_MAX': '3'},
    {'GLIBC_TUNABLES': 'glibc.malloc.arena_max=3'}])
def test_an_operator_may_choose_how_many_arenas_there_are(environ):
    assert arenas(**environ) == 3


@pytest.mark.parametrize(('umask', 'mode'), [(0, 0o640), (0o077, 0o600)])
def test_files_that_are_made_are_not_for_all(tmp_path, umask, mode):
    """A stricter umask stays."""
    code = ('from nova_sched.cmd import process; process.configure_process(); '
            f'open("{tmp_path}/made", "w"); open("{tmp_path}/old", "a")')
    old = pathlib.Path(tmp_path, 'old')
    old.touch()
    old.chmod(0o664)
    subprocess.run([sys.executable, '-c', code], check=True, umask=umask)
    assert stat.S_IMODE(pathlib.Path(tmp_path, 'made').stat().st_mode) == mode
    assert stat.S_IMODE(old.stat().st_mode) == 0o664


@pytest.fixture
def lax():
    """An umask of 0, until the test ends."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_database_that_db_sync_makes_is_not_for_all(tmp_path, lax):
    assert manage.main(['--database', f'sqlite:///{tmp_path}/nova.sqlite',
                        'db', 'sync']) == 0
    made = list(tmp_path.iterdir())
    assert made
    assert not [path for path in made if path.stat().st_mode & 0o007]


def test_other_c_libraries_are_not_configured(lax, monkeypatch):
    monkeypatch.setattr(ctypes, 'CDLL', lambda name: object())
    process.configure_process()
