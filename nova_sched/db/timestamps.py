"""Times as databases give them: texts and datetimes, some of them unreadable.

Columns of SQLite hold whatever was written to them, and those of MySQL and
MariaDB may hold the zero date.
"""

import datetime
import functools

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


def read(value):
    """A text in ISO 8601 form as a naive UTC datetime; None for None.

    Anything else is None too, with one warning for each distinct value: a
    row must not suffer from one column, nor the others from one row.
    """
    if value is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(value)
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except (TypeError, ValueError, OverflowError):
        _warn_unreadable(str(value))
        return None


@functools.lru_cache(maxsize=1024)
def _warn_unreadable(text):
    LOG.warning('A row of the database holds %.200r where a time must be; it '
                'counts as absent until that row is corrected', text)
