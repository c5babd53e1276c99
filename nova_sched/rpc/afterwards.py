"""What is left of a call when its reply is on its way.

Each thread of a server works on one call at a time.  Functions for which the
caller need not wait are kept by thread, and called while the broker confirms
the reply.  They are called at once when the broker is away, and when the call
is over if there is no reply.
"""

import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_call = threading.local()


def begin():
    """Begin a call in this thread, with nothing left of it."""
    _call.functions = []


def do(function):
    """Have a function called once the reply to this call is sent.

    It is called at once outside of a server.
    """
    if hasattr(_call, 'functions'):
        _call.functions.append(function)
    else:
        function()


def run():
    """Call what is left of this call, each even if another one fails."""
    functions = getattr(_call, 'functions', None)
    while functions:
        try:
            functions.pop(0)()
        except BaseException:
            # The caller may have its answer, which nothing here is to undo.
            LOG.exception('What was left of a call has failed')
