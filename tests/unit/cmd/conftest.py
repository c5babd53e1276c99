"""Commands run in the test's process, on files of the test."""

import logging
from typing import NamedTuple

import pytest

from nova_sched.cmd import manage


class Outcome(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Function: run one command line of nova-sched-manage."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def run(*argv):
        capsys.readouterr()
        try:
            code = manage.main([str(word) for word in argv])
        except SystemExit as ended:
            code = ended.code
        return Outcome(code, *capsys.readouterr())
    yield run
    # The command line library adds handlers that write to this test's stderr.
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def url(tmp_path):
    """URL of a database that is not made yet."""
    return f'sqlite:///{tmp_path}/new.sqlite'
