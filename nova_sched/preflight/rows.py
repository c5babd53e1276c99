"""The rows of a report, and running checks that may fail."""

import typing

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.options import spelling

LOG = logging.getLogger(__name__)

#: Outcomes.  DIFFERS: from a release of Nova, which is neither good nor bad.
OK, WARNING, ERROR, DIFFERS = 'ok', 'warning', 'error', 'differs'

#: Names that a row lists at most.
_MAX_NAMES = 5


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


def attempt(check, advice, function, *args):
    """Return a function's list of Row, or a row that says why it fails.

    Of unknown errors the row has the class alone: their texts may hold
    secrets.
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
    """Return rows that name options as the files do: list of Row."""
    written = spelling.Spelling(conf).in_words
    return [row._replace(check=written(row.check), found=written(row.found),
                         advice=written(row.advice)) for row in rows]


def counted(names, noun):
    """Return how many names there are, and the first of them: text."""
    names = sorted(names)
    shown = ', '.join(names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        shown += ', ...'
    return f'{len(names)} {noun}: {shown}'
