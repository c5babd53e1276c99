"""How commands end: the exit codes of ``nova-sched-manage``, in one place."""

import functools

from nova_sched import exception

#: It is done, or the answer is yes.
DONE = 0
#: The answer is no, or the command failed.
NO = 1
#: What it was given is wrong: command line, file or configuration.
WRONG = 2
#: Broker, scheduler, database or Placement does not answer, or is another.
NOT_ASKED = 3


class NoAnswer(exception.NovaSchedException):
    """There is no broker, or no scheduler behind it."""


class WrongFile(exception.NovaSchedException):
    """A file of the command line is not what it must be."""


#: With any other error it is NO.
_CODES = {exception.ConfigurationError: WRONG,
          exception.InvalidInput: WRONG,
          WrongFile: WRONG,
          exception.DatabaseUnavailable: NOT_ASKED,
          exception.PlacementUnavailable: NOT_ASKED,
          exception.PlacementError: NOT_ASKED,
          NoAnswer: NOT_ASKED}


def coded(run, app):
    """Return the run() of a command with errors told and made exit codes.

    app: cliff's.  Errors that say nothing about the code are cliff's to tell.
    """
    @functools.wraps(run)
    def run_coded(*args, **kwargs):
        try:
            return run(*args, **kwargs)
        except tuple(_CODES) as error:
            if app.options.debug:
                raise    # it shows a traceback
            app.LOG.error('%s', error)
            return next(code for kind, code in _CODES.items()
                        if isinstance(error, kind))
    return run_coded
