"""Texts from outside, as they are shown: in logs, by commands and on pages.

Whatever could end or disguise a line is written as an escape: control
characters, Unicode's line separators and marks of direction, surrogates
without a partner.
"""


def printable(text, keeping=''):
    """Return a text with escapes for what is not to be shown as it is.

    keeping: characters that stay.
    """
    if text.isprintable():
        return text
    return ''.join(
        each if each.isprintable() or each in keeping
        else each.encode('unicode_escape').decode() for each in text)


class Stream:
    """A text stream to which all that is printable is written as it is.

    Line feeds and tabs stay, with which commands make lines and columns.
    """

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def write(self, text):
        """Write a text."""
        return self._stream.write(printable(text, '\n\t'))
