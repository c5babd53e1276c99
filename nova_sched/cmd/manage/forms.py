"""Values in two forms: for people, and for programs.

Text for people is one line without control characters.
"""

import json
import re

from cliff import columns
from cliff import lister
from cliff import show

from nova_sched.printable import printable

#: Formatters of cliff that write values, and formatters that write text for
#: programs.
_VALUES, _TEXTS = ('json', 'yaml'), ('csv', 'shell', 'value')

_GIBIBYTE = 1024


class Shown(columns.FormattableColumn):
    """A value of plain JSON for programs, and lines of text for people."""

    def __init__(self, value, *texts):
        super().__init__(value)
        self._text = '\n'.join(map(printable, texts))

    def human_readable(self):
        """Return the lines as one text."""
        return self._text


class Lister(lister.Lister):
    """A command that lists rows.

    empty: output without rows.
    """

    empty = 'There are none.'

    def produce_output(self, parsed_args, column_names, data):
        """Write rows, each of as many values as there are columns."""
        rows = list(data)
        if not (rows or parsed_args.print_empty
                or parsed_args.formatter != 'table'):
            self.app.stdout.write(f'{self.empty}\n')
            return 0
        return super().produce_output(
            parsed_args, column_names, [_in_form(parsed_args, row)
                                        for row in rows])


class ShowOne(show.ShowOne):
    """A command that shows the values of one thing."""

    def produce_output(self, parsed_args, column_names, data):
        """Write as many values as there are columns."""
        return super().produce_output(parsed_args, column_names,
                                      _in_form(parsed_args, data))


def _in_form(parsed_args, values):
    """Return values for the formatter: tuple.

    Numbers stay numbers, and lists and objects become JSON; cliff would write
    their Python representation.
    """
    if for_programs(parsed_args):
        return tuple(values)
    if parsed_args.formatter in _TEXTS:
        plain = (value.machine_readable()
                 if isinstance(value, columns.FormattableColumn) else value
                 for value in values)
        values = (json.dumps(value) if isinstance(value, dict | list)
                  else value for value in plain)
    shown = _quoted if parsed_args.formatter == 'shell' else printable
    return tuple(shown(value) if isinstance(value, str) else value
                 for value in values)


def _quoted(text):
    """Return a text for double quotes in a shell.

    cliff escapes only the double quotes.
    """
    return re.sub(r'[\\$`]', r'\\\g<0>', printable(text))


def for_programs(parsed_args):
    """Return whether the formatter writes values."""
    return parsed_args.formatter in _VALUES


def listed(values):
    """Return a list of texts; for people separated by commas."""
    return Shown(list(values), ', '.join(values))


def number(value):
    """Return a number; for people without exponent and negative zero."""
    text = f'{value:,.4f}'.rstrip('0').rstrip('.')
    return Shown(value, '0' if text == '-0' else text)


def megabytes(value):
    """Return a number of MB of memory; for people with the unit."""
    return Shown(value, f'{value:,} MB')


def gigabytes(value, megabytes):
    """Return a number; for people GB of disk.  megabytes: as such."""
    text = f'{megabytes / _GIBIBYTE:,.1f}'.removesuffix('.0')
    return Shown(value, f'{text} GB')


def pairs(value):
    """Return a dict; for people as name=value, sorted by name."""
    return Shown(value, ', '.join(
        f'{name}={value[name]}' for name in sorted(value)))


def lines(values, text):
    """Return a list of objects; for people one line of text for each.

    text: function of an object.
    """
    return Shown(values, *map(text, values))


def moment(value):
    """Return an aware datetime, or None, in ISO 8601."""
    return value and value.isoformat(timespec='seconds')
