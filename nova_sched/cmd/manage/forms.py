"""Values in two forms: for people, and for programs.

Strings are sanitized by ``printable`` in every format except json and yaml.
"""

import json
import re

from cliff import columns
from cliff import lister
from cliff import show

from nova_sched.printable import printable

#: Formatters of cliff that write structured values, and formatters that write
#: plain text for programs.
_STRUCTURED, _PLAIN = ('json', 'yaml'), ('csv', 'shell', 'value')

_GIBIBYTE = 1024


class DualValue(columns.FormattableColumn):
    """A value of plain JSON for programs, and lines of text for people."""

    def __init__(self, value, *texts):
        super().__init__(value)
        self._text = '\n'.join(map(printable, texts))

    def human_readable(self):
        """Return the lines as one text."""
        return self._text


class Lister(lister.Lister):
    """A command that lists rows.

    empty: message if there are no rows.
    """

    empty = 'There are none.'

    def produce_output(self, parsed_args, column_names, data):
        """Write rows, with one value per column."""
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
        """Write the values, one per column."""
        return super().produce_output(parsed_args, column_names,
                                      _in_form(parsed_args, data))


def _in_form(parsed_args, values):
    """Return values for the formatter: tuple.

    For csv, shell and value, lists and objects become JSON; cliff would write
    their Python representation.  Numbers stay numbers.
    """
    if is_structured(parsed_args):
        return tuple(values)
    if parsed_args.formatter in _PLAIN:
        plain = (value.machine_readable()
                 if isinstance(value, columns.FormattableColumn) else value
                 for value in values)
        values = (json.dumps(value) if isinstance(value, dict | list)
                  else value for value in plain)
    shown = _shell_escaped if parsed_args.formatter == 'shell' else printable
    return tuple(shown(value) if isinstance(value, str) else value
                 for value in values)


def _shell_escaped(text):
    """Return a text for double quotes in a shell.

    cliff escapes only the double quotes.
    """
    return re.sub(r'[\\$`]', r'\\\g<0>', printable(text))


def is_structured(parsed_args):
    """Return whether the formatter writes structured values."""
    return parsed_args.formatter in _STRUCTURED


def listed(values):
    """Return a DualValue of a list of texts; for people with commas."""
    return DualValue(list(values), ', '.join(values))


def number(value):
    """Return a DualValue of a number, without exponent or negative zero."""
    text = f'{value:,.4f}'.rstrip('0').rstrip('.')
    return DualValue(value, '0' if text == '-0' else text)


def megabytes(value):
    """Return a DualValue of a number of MB, for people with the unit."""
    return DualValue(value, f'{value:,} MB')


def gigabytes(value, megabytes):
    """Return a DualValue of an amount of disk, for people in GB.

    megabytes: the same amount in MiB.
    """
    text = f'{megabytes / _GIBIBYTE:,.1f}'.removesuffix('.0')
    return DualValue(value, f'{text} GB')


def pairs(value):
    """Return a DualValue of a dict, for people name=value by name."""
    return DualValue(value, ', '.join(
        f'{name}={value[name]}' for name in sorted(value)))


def lines(values, text):
    """Return a DualValue of a list, for people one line for each object.

    text: function of an object.
    """
    return DualValue(values, *map(text, values))


def timestamp(value):
    """Return an aware datetime, or None, in ISO 8601."""
    return value and value.isoformat(timespec='seconds')
