"""Commands run in the test's process."""

import contextlib
import logging

from nova_sched.cmd import manage


@contextlib.contextmanager
def logging_kept():
    """Undo after a block what commands set up of logging.

    They add handlers that write to this test's stderr, and have loggers say
    less.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level
              for name in manage._TALKATIVE}
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
