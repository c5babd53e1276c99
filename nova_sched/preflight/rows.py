"""Rows of a report, and running checks that may fail."""

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

    check: name of the check.  outcome: OK, WARNING, ERROR or DIFFERS.
    found: the result as text.  advice: text for the operator, or ''.
    value: the result as plain JSON, if it is more than text.
    """

    check: str
    outcome: str
    found: str
    advice: str = ''
    value: object = None


def attempt(check, advice, function, *args):
    """Return a function's list of Row, or a row with its error.

    The row has only the class of an unknown error, whose text may contain
    secrets.
    """
    try:
        return function(*args)
    except exception.NovaSchedException as error:
        text = str(error)
    except Exception as error:
        LOG.debug('%s', check, exc_info=True)
        text = (f'unexpected {type(error).__name__}; nova-sched-manage -v '
                'shows its traceback')
    return [Row(check, ERROR, text, advice)]


def as_written(conf, rows):
    """Return rows that name options as the files do: list of Row."""
    written = spelling.Spelling(conf).rename_in_text
    return [row._replace(check=written(row.check), found=written(row.found),
                         advice=written(row.advice)) for row in rows]


def counted(names, noun):
    """Return the number of names and the first names: text."""
    names = sorted(names)
    shown = ', '.join(names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        shown += ', ...'
    return f'{len(names)} {noun}: {shown}'
