"""Escapes for texts from outside, in logs, commands and pages.

Characters that could end or disguise a line become escapes: control
characters, Unicode's line separators and direction marks, lone surrogates.
"""


def printable(text, keeping=''):
    """Return a text with escapes for unprintable characters.

    keeping: characters that are not escaped.
    """
    if text.isprintable():
        return text
    return ''.join(
        char if char.isprintable() or char in keeping
        else char.encode('unicode_escape').decode() for char in text)


class Stream:
    """A text stream that escapes unprintable characters.

    Line feeds and tabs are kept, for lines and columns of commands.
    """

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def write(self, text):
        """Write a text."""
        return self._stream.write(printable(text, '\n\t'))
