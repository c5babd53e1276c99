"""Parses the time stamps of databases, some of which are invalid.

A column of SQLite can hold any text, and a column of MySQL or MariaDB the
zero date.
"""

import datetime
import functools

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


def parse(value):
    """Return a text in ISO 8601 form as a naive UTC datetime.

    Returns None for None, and for an invalid value, with one warning per
    distinct value: one bad column must not make its row unreadable.
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
                'counts as absent until the row is corrected', text)
