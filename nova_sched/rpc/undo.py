"""What to undo when the reply to a call is lost.

Each thread of a server works on one call at a time.  Functions that undo what
the call has done are kept by thread until its reply is sent, or go along with
a reply that waits for its queue.
"""

import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_call = threading.local()


def begin():
    """Begin a call in this thread, with nothing to undo."""
    _call.functions = []


def if_reply_is_lost(function):
    """Have a function called if the reply to this call is not delivered.

    It never is outside of a server, where the caller gets its result.
    """
    if hasattr(_call, 'functions'):
        _call.functions.append(function)


def take():
    """Return the functions that undo this call, which forgets them: list."""
    functions = getattr(_call, 'functions', [])
    begin()
    return functions


def reply_is_lost():
    """Undo this call, whose reply was not delivered."""
    run(take())


def run(functions):
    """Call functions, each even if another one fails."""
    for function in functions:
        try:
            function()
        except Exception:
            # Nobody is left to tell, and the others must be undone as well.
            LOG.exception('What a call without an answer has done could not '
                          'be undone')
