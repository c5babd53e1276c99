"""What one RPC call leaves to do: after its reply, or if that is lost.

Each thread of a server works on one call at a time, in a scope of its own.

- Work for which the caller need not wait runs while the broker confirms the
  reply; at once while the broker is away, and at the end of the scope if there
  is no reply.
- Work that undoes the call runs if its reply is not delivered; it goes along
  with a reply that waits for its queue.
"""

import contextlib
import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class _Scope(threading.local):
    """The functions of this thread's call; None outside of a server."""

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
    """Call a function once the reply to this call is sent.

    It is called at once outside of a server.
    """
    if _scope.after_reply is None:
        function()
    else:
        _scope.after_reply.append(function)


def run_after_reply():
    """Call what waits for the reply, each even if another one fails."""
    while _scope.after_reply:
        try:
            _scope.after_reply.pop(0)()
        except BaseException:
            # The caller may have its answer, which nothing here is to undo.
            LOG.exception('What was left of a call has failed')


def if_reply_is_lost(function):
    """Call a function if the reply to this call is not delivered.

    It never is outside of a server, where the caller gets its result.
    """
    if _scope.undo is not None:
        _scope.undo.append(function)


def take_undo():
    """Return the functions that undo this call, and forget them: list."""
    functions = _scope.undo or []
    if functions:
        _scope.undo = []
    return functions


def reply_is_lost():
    """Undo this call, whose reply was not delivered."""
    undo(take_undo())


def undo(functions):
    """Call functions, each even if another one fails."""
    for function in functions:
        try:
            function()
        except Exception:
            # Nobody is left to tell, and the others must be undone as well.
            LOG.exception('What a call without an answer has done could not '
                          'be undone')
