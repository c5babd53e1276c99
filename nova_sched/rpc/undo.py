"""What is to be undone when an answer does not reach its caller.

Each thread of a server works on one call at a time.  What the call leaves to
be undone is kept by thread until the answer has been sent, or goes with an
answer that waits for its caller.
"""

import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_call = threading.local()


def begin():
    """A call begins in this thread."""
    _call.undo = []


def undo_if_lost(function):
    """Have a function called if the answer to this call is not delivered."""
    if hasattr(_call, 'undo'):
        _call.undo.append(function)


def take():
    """What there is to be undone of this call, left to the caller: list."""
    functions = getattr(_call, 'undo', [])
    begin()
    return functions


def lost():
    """The answer was not delivered: undo what there is to be undone."""
    undo(take())


def undo(functions):
    """Call functions, each whatever comes of the others."""
    for function in functions:
        try:
            function()
        except Exception:
            # Nobody is left to tell, and the others must be undone as well.
            LOG.exception('What a call without an answer has done could not '
                          'be undone')
