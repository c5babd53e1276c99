"""Reading the JSON texts that compute services report."""

import functools
import json

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class UnreadableError(ValueError):
    """A report in an unknown form.

    The text is short, and the same for all reports with the same fault.
    """


class Report:
    """The items in one column of a host's row, and the form of the report.

    Immutable.  Reports of equal text are equal; the text is parsed at its
    first use.

    text: of the column; an unreadable text has no items.
    parsed: (items, whether they are in the newer form) if known; then ``text``
        is any hashable value that identifies the items.
    """

    __slots__ = ('_parsed', 'text')

    #: Name of the column.
    COLUMN = None

    def __init__(self, text, parsed=None):
        self.text, self._parsed = text, parsed

    @staticmethod
    def parse(value):
        """Return (tuple of items, whether in the newer form) of a JSON value.

        May raise UnreadableError.
        """
        raise NotImplementedError

    def _read(self):
        if self._parsed is None:
            self._parsed = read(self.COLUMN, self.text, self.parse,
                                ((), False))
        return self._parsed

    @property
    def items(self):
        """The items, as a tuple; callers must not change them."""
        return self._read()[0]

    @property
    def is_newer(self):
        """Whether the report is in the newer of two forms."""
        return self._read()[1]

    def __len__(self):
        return len(self.items)

    def __bool__(self):
        return True

    def __eq__(self, other):
        return type(other) is type(self) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __repr__(self):
        return f'{type(self).__name__}({self.items})'


def read(column, text, parse, default):
    """Return ``parse`` of the JSON in a text; a default if it is unreadable.

    column: of Nova's ``compute_nodes``, for the warning, which is logged once
        for each fault.
    parse: function of a JSON value; may raise UnreadableError.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        warn_once(column, 'no JSON text')
        return default
    try:
        return parse(value)
    except UnreadableError as error:
        warn_once(column, str(error))
    return default


@functools.lru_cache(maxsize=256)
def warn_once(column, fault):
    """Warn of a fault, unless it is one of the latest."""
    warn(column, fault)


def warn(column, fault):
    """Warn of a fault in a column; fault: text of UnreadableError."""
    LOG.warning('A compute node row holds unreadable %(column)s, which count '
                'as absent: %(fault)s',
                {'column': column, 'fault': fault})
