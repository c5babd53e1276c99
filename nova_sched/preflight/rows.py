"""What a check came to, and running checks that may fail or hang."""

from concurrent import futures
import threading
import time
import typing

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.options import spelling

LOG = logging.getLogger(__name__)

#: Outcomes.  DIFFERS: from a release of Nova, which is neither good nor bad.
OK, WARNING, ERROR, DIFFERS = 'ok', 'warning', 'error', 'differs'

#: Names that a row lists at most.
_MANY = 5


class Row(typing.NamedTuple):
    """One line of a report.

    check: what was looked at.  outcome: OK, WARNING, ERROR or DIFFERS.
    found: what there is.  advice: what to do, if anything.
    value: what was found as plain JSON, where it is more than words.
    """

    check: str
    outcome: str
    found: str
    advice: str = ''
    value: object = None


class Silent(exception.NovaSchedException):
    """There was no answer in time."""


class Question:
    """A function that is being called, in a thread that nobody waits for.

    seconds: after which it is given up; a thread that waits for a dead server
    cannot be cancelled.
    """

    def __init__(self, seconds, function, *args):
        self._future, self._seconds = futures.Future(), seconds
        self._until = time.monotonic() + seconds
        threading.Thread(target=self._run, args=(function, *args),
                         daemon=True, name='preflight').start()

    def _run(self, function, *args):
        try:
            self._future.set_result(function(*args))
        except BaseException as error:
            self._future.set_exception(error)

    def answer(self):
        """What the function returns or raises; Silent if it is given up."""
        futures.wait([self._future], max(0, self._until - time.monotonic()))
        if not self._future.done():
            raise Silent(f'no answer within {self._seconds} seconds')
        return self._future.result()


def attempt(check, advice, function, *args):
    """What a function returns, a list of Row, or a row that says why not.

    Errors that this service does not know tell their kind alone: their words
    may hold anything.
    """
    try:
        return function(*args)
    except exception.NovaSchedException as error:
        found = str(error)
    except Exception as error:
        LOG.debug('%s', check, exc_info=True)
        found = (f'{type(error).__name__}, which is not expected; '
                 'nova-sched-manage -v shows its traceback')
    return [Row(check, ERROR, found, advice)]


def as_written(conf, rows):
    """Rows that name options as the files do: list of Row."""
    written = spelling.Spelling(conf).in_words
    return [row._replace(check=written(row.check), found=written(row.found),
                         advice=written(row.advice)) for row in rows]


def counted(names, noun):
    """How many there are, and which are the first: text."""
    names = sorted(names)
    shown = ', '.join(names[:_MANY])
    if len(names) > _MANY:
        shown += ', ...'
    return f'{len(names)} {noun}: {shown}'
