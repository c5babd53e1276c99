"""Commands run in the test's process."""

import contextlib
import json
import logging

from nova_sched.cmd import manage
from nova_sched.compat.nova import reach


@contextlib.contextmanager
def logging_kept():
    """Restore logging after a block in which commands run.

    Commands add handlers that write to this test's stderr, and raise levels
    of loggers.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level
              for name in manage._LEVELS}
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def plans_undone():
    """Undo after a block the restrictions that plans put on this process."""
    with logging_kept():
        yield
    reach.limit(None)


def plan(stage, capsys, *options):
    """Run "request plan -f json" with these options: (code, object).

    stage: functional.stage.Stage.  capsys: of the test.
    """
    capsys.readouterr()
    code = manage.main(['--config-file', str(stage.config_file()), 'request',
                        'plan', *options, '-f', 'json'])
    ended = capsys.readouterr()
    assert code in (0, 1), ended.err
    return code, json.loads(ended.out)
