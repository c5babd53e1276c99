"""Doing once more what has been logged already."""

import contextlib
import logging
import threading


@contextlib.contextmanager
def quiet():
    """Have nothing logged by this thread, whoever logs it: a context.

    Of what was decided the log has told; other threads log on.
    """
    thread = threading.get_ident()

    def is_of_others(record):
        return threading.get_ident() != thread

    handlers = _handlers()
    for handler in handlers:
        handler.addFilter(is_of_others)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_of_others)


def _handlers():
    """Return the handlers of all loggers: list."""
    loggers = (logging.getLogger(),
               *logging.getLogger().manager.loggerDict.values())
    found = {id(handler): handler for logger in loggers
             # Of a name without a logger of its own there is none.
             for handler in getattr(logger, 'handlers', ())}
    return [*found.values(), *filter(None, [logging.lastResort])]
