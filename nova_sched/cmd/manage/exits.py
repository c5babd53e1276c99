"""The exit codes of ``nova-sched-manage``, for all commands."""

import functools

from nova_sched import exception

#: Success, or the answer is yes.
DONE = 0
#: The answer is no, or the command failed.
NO = 1
#: The command line, a file or the configuration is wrong.
WRONG = 2
#: Broker, scheduler, database or Placement is unavailable or not usable.
UNREACHABLE = 3


class NoAnswer(exception.NovaSchedException):
    """The broker, or a scheduler behind it, does not respond."""


class WrongFile(exception.NovaSchedException):
    """A file of the command line is not usable."""


#: Exit codes of errors; other errors exit with NO.
_CODES = {exception.ConfigurationError: WRONG,
          exception.InvalidInput: WRONG,
          WrongFile: WRONG,
          exception.DatabaseUnavailable: UNREACHABLE,
          exception.PlacementUnavailable: UNREACHABLE,
          exception.PlacementError: UNREACHABLE,
          NoAnswer: UNREACHABLE}


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
