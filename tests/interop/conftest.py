"""A real Nova of 2026.2 beside the service.

``tools/nova-venv.sh`` installs it; NOVA_SCHED_TEST_NOVA names another Python
with Nova.
"""

import atexit
import contextlib
import functools
import json
import os
import pathlib
import select
import signal
import subprocess

import pytest

from tests.functional import conftest as functional
from tests.functional import shared
from tests.interop.placement import open_placement

TOP = pathlib.Path(__file__).parent.parent.parent
PEER = pathlib.Path(__file__).parent / 'peer.py'
#: Seconds to wait for an answer of Nova.
PATIENCE = 180


class Peer:
    """A process that has imported Nova, for all questions of a test run."""

    def __init__(self):
        python = pathlib.Path(os.environ.get(
            'NOVA_SCHED_TEST_NOVA', TOP / '.venv-nova/bin/python'))
        if not python.exists():
            pytest.fail(f'{python} does not exist: tools/nova-venv.sh '
                        f'installs the Nova of these tests')
        self._log = shared.folder() / f'peer-{os.getpid()}.log'
        with self._log.open('wb') as output:
            self._process = subprocess.Popen(
                [python, PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=output, text=True, start_new_session=True)

    def close(self):
        """Kill it with its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def converse(self, **conversation):
        """Send a conversation to peer.py; return its answers."""
        stdin = self._process.stdin
        stdin.write(json.dumps(
            conversation, default=lambda obj: obj.obj_to_primitive()) + '\n')
        stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if ready else 'null'
        answers = json.loads(line or 'null')
        if answers is None:
            _peer.cache_clear()
            self.close()
            log = self._log.read_text(errors='replace')
            pytest.fail(
                f'Nova {"ended" if ready else f"took over {PATIENCE} seconds"}'
                f' without an answer.  Its log:\n{log[-4000:]}')
        return answers


@functools.cache
def _peer():
    """The Peer of this process."""
    peer = Peer()
    atexit.register(peer.close)
    return peer


class Nova:
    """A Nova with a configuration file; peer.py has its questions."""

    def __init__(self, config_file):
        self._config_file, self._questions = str(config_file), []

    def will(self, what, *args, **kwargs):
        """Add a question for ``answers``."""
        self._questions.append([what, args, kwargs])

    def answers(self):
        """Ask Nova all questions: a list of dicts."""
        questions, self._questions = self._questions, []
        return _peer().converse(
            config_file=self._config_file, questions=questions,
            path=[folder for folder in os.environ.get(
                'PYTHONPATH', '').split(os.pathsep) if folder])

    def answer(self, what, *args, **kwargs):
        """Ask Nova one question; AssertionError for an error."""
        self.will(what, *args, **kwargs)
        reply, = self.answers()
        assert 'error' not in reply, reply
        return reply['answer']


@pytest.fixture
def stage(tmp_path):
    """A Stage on a real RabbitMQ and a real MariaDB."""
    with functional.open_stage(tmp_path) as stage:
        yield stage


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """A Placement shared by the tests of a file."""
    with open_placement(tmp_path_factory.mktemp('placement')) as placement:
        yield placement


@pytest.fixture
def placement(server):
    """The shared Placement without providers of earlier tests."""
    server.clear()
    return server
