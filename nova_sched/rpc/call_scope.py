"""Functions that an RPC call registers for after its reply, or its failure.

Each thread of a server processes one call at a time, in a scope of its own.

- Functions for which the caller need not wait run while the broker confirms
  the reply.  They run at once while the broker is unreachable, and at the end
  of the scope if there is no reply.
- Functions that undo the call run if its reply is not delivered.  If the reply
  waits for its queue, they wait with it.
"""

import contextlib
import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class _Scope(threading.local):
    """The functions of this thread's call; None outside a server."""

    after_reply = undo = None


_scope = _Scope()


@contextlib.contextmanager
def entered():
    """Enter the scope of a call in this thread: a context."""
    _scope.after_reply, _scope.undo = [], []
    try:
        yield
    finally:
        run_after_reply()
        _scope.after_reply = _scope.undo = None


def after_reply(function):
    """Register a function to call once the reply to this call is sent.

    Outside a server it is called at once.
    """
    if _scope.after_reply is None:
        function()
    else:
        _scope.after_reply.append(function)


def run_after_reply():
    """Call the functions that wait for the reply; log their errors."""
    while _scope.after_reply:
        try:
            _scope.after_reply.pop(0)()
        except BaseException:
            # The caller may have the reply: these errors must not undo it.
            LOG.exception('Work after the reply to a call failed')


def if_reply_is_lost(function):
    """Register a function to call if the reply to this call is lost.

    Outside a server there is no reply, and it is never called.
    """
    if _scope.undo is not None:
        _scope.undo.append(function)


def take_undo():
    """Remove and return the functions that undo this call: list."""
    functions = _scope.undo or []
    if functions:
        _scope.undo = []
    return functions


def reply_is_lost():
    """Undo this call: its reply was not delivered."""
    undo(take_undo())


def undo(functions):
    """Call functions that undo a call; log their errors."""
    for function in functions:
        try:
            function()
        except Exception:
            # The caller is gone, and the other functions must run as well.
            LOG.exception('Cannot undo a call whose reply was lost')
