"""What is to be undone when an answer does not reach its caller.

Each thread of a server works on one call at a time.  What the call leaves to
be undone is kept by thread until the answer has been sent.
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


def lost():
    """The answer was not delivered: undo what there is to be undone."""
    for function in _call.undo:
        try:
            function()
        except Exception:
            # Nobody is left to tell, and the others must be undone as well.
            LOG.exception('What a call without an answer has done could not '
                          'be undone')
    begin()
