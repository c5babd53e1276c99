"""Values in the two forms that commands write: for people, for programs."""

from cliff import columns

#: Formatters of cliff whose output programs read as values.
_VALUES = ('json', 'yaml')

_GIBIBYTE = 1024


class Shown(columns.FormattableColumn):
    """A value of plain JSON for programs, and a text for people."""

    def __init__(self, value, text):
        super().__init__(value)
        self._text = text

    def human_readable(self):
        """Return the text."""
        return self._text


def for_programs(parsed_args):
    """Return whether what a command writes is read as values."""
    return parsed_args.formatter in _VALUES


def listed(values):
    """Return a list of texts; for people with commas."""
    return Shown(list(values), ', '.join(values))


def number(value):
    """Return a number; for people without an exponent and negative zero."""
    text = f'{value:,.4f}'.rstrip('0').rstrip('.')
    return Shown(value, '0' if text == '-0' else text)


def megabytes(value):
    """Return a whole number of MB; for people in GB where that is shorter."""
    if abs(value) < 10 * _GIBIBYTE:
        return Shown(value, f'{value:,} MB')
    text = f'{value / _GIBIBYTE:,.1f}'.removesuffix('.0')
    return Shown(value, f'{text} GB')


def pairs(value):
    """Return a dict; for people as name=value, in the order of the names."""
    return Shown(value, ', '.join(
        f'{name}={value[name]}' for name in sorted(value)))


def lines(values, texts):
    """Return a list of objects; for people a line of text each."""
    return Shown(list(values), '\n'.join(texts))


def moment(value):
    """Return an aware datetime, or None, in the form of ISO 8601."""
    return value and value.isoformat(timespec='seconds')
