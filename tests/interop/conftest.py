"""A real Nova of 2026.2 beside the service.

``tools/nova-venv.sh`` installs it; NOVA_SCHED_TEST_NOVA names its Python if
it is elsewhere.
"""

import json
import os
import pathlib
import subprocess

import pytest

from tests.functional import conftest as functional

TOP = pathlib.Path(__file__).parent.parent.parent
PEER = pathlib.Path(__file__).parent / 'peer.py'
#: Seconds until a Nova that has not answered is given up.
PATIENCE = 180


class Nova:
    """A Nova with a configuration file; see peer.py for what it answers."""

    def __init__(self, config_file):
        self._python = pathlib.Path(os.environ.get(
            'NOVA_SCHED_TEST_NOVA', TOP / '.venv-nova/bin/python'))
        if not self._python.exists():
            pytest.fail(f'{self._python} does not exist: tools/nova-venv.sh '
                        f'installs the Nova that these tests ask')
        self._config_file, self._questions = config_file, []

    def will(self, what, *args, **kwargs):
        """One more question for ``answers``."""
        self._questions.append([what, args, kwargs])

    def answers(self):
        """What Nova answers to all questions: a list of dicts."""
        done = subprocess.run(
            [self._python, PEER, self._config_file], text=True,
            input=json.dumps(self._questions,
                             default=lambda obj: obj.obj_to_primitive()),
            capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        self._questions = []
        return json.loads(done.stdout)

    def answer(self, what, *args, **kwargs):
        """What it answers to one question; an assertion if it is an error."""
        self.will(what, *args, **kwargs)
        found, = self.answers()
        assert 'error' not in found, found
        return found['answer']


@pytest.fixture
def stage(tmp_path):
    """A Stage on a real RabbitMQ and a real MariaDB."""
    with functional.open_stage(tmp_path) as stage:
        yield stage
