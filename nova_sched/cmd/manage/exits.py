"""The exit codes of ``nova-sched-manage``, for all commands."""

import functools

from nova_sched import exception

#: Success, or the answer is yes.
DONE = 0
#: The answer is no, or the command failed.
NO = 1
#: The command line, a file or the configuration is wrong.
WRONG = 2
#: Broker, scheduler, database or Placement does not answer, or is not usable.
NOT_ASKED = 3


class NoAnswer(exception.NovaSchedException):
    """No broker, or no scheduler behind it, answers."""


class WrongFile(exception.NovaSchedException):
    """A file of the command line is not usable."""


#: Exit codes of errors; other errors exit with NO.
_CODES = {exception.ConfigurationError: WRONG,
          exception.InvalidInput: WRONG,
          WrongFile: WRONG,
          exception.DatabaseUnavailable: NOT_ASKED,
          exception.PlacementUnavailable: NOT_ASKED,
          exception.PlacementError: NOT_ASKED,
          NoAnswer: NOT_ASKED}


def coded(run, app):
    """Return the run() of a command that logs errors and returns exit codes.

    app: cliff's.  Errors without an exit code are left to cliff.
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
