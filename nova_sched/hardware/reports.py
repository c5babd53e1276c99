"""Reading what compute services report as JSON text, whatever is in it."""

import functools
import json

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class UnreadableError(ValueError):
    """A report that is not in any form that was ever written.

    Its text says what is wrong in a few words that are the same for all
    reports with that fault.
    """


class Report:
    """One column of a host's row: a number of items, and who wrote them.

    Immutable; equal when made from equal text, which is parsed when first
    looked at.

    text: of the column; what cannot be read has no items.
    parsed: (items, whether they are newer) when known; then ``text`` may be
        any hashable value that is different for different items.
    """

    __slots__ = ('_parsed', '_text')

    #: Name of the column.
    COLUMN = None

    def __init__(self, text, parsed=None):
        self._text, self._parsed = text, parsed

    @staticmethod
    def parse(value):
        """Return (tuple of items, whether they are newer) of a JSON value.

        May raise UnreadableError.
        """
        raise NotImplementedError

    def _read(self):
        if self._parsed is None:
            self._parsed = read(self.COLUMN, self._text, self.parse,
                                ((), False))
        return self._parsed

    @property
    def items(self):
        """The items, as a tuple; not to be changed."""
        return self._read()[0]

    @property
    def is_newer(self):
        """Whether a compute service wrote them in the newer of two forms."""
        return self._read()[1]

    def __len__(self):
        return len(self.items)

    def __bool__(self):
        return True

    def __eq__(self, other):
        return type(other) is type(self) and self._text == other._text

    def __hash__(self):
        return hash(self._text)

    def __repr__(self):
        return f'{type(self).__name__}({self.items})'


def read(column, text, parse, default):
    """Return ``parse`` of the JSON in a text; the default if that cannot be
    read.

    column: of Nova's ``compute_nodes``, for the warning; there is one for
        each distinct fault, not one for each host.
    parse: function of a JSON value; may raise UnreadableError.
    """
    try:
        return parse(_json(text))
    except UnreadableError as error:
        warn_once(column, str(error))
    return default


def _json(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableError('no JSON text') from None


@functools.lru_cache(maxsize=256)
def warn_once(column, fault):
    """Warn of a fault in a column, once; ``fault`` as UnreadableError's."""
    LOG.warning('A compute node row holds unreadable %(column)s, which count '
                'as absent: %(fault)s',
                {'column': column, 'fault': fault})
