"""Escapes in texts from outside."""

import io

import pytest

from nova_sched.printable import Stream
from nova_sched.printable import printable


@pytest.mark.parametrize(('text', 'shown'), [
    ('plain, Z\u00fcrich, \u6771\u4eac', 'plain, Z\u00fcrich, \u6771\u4eac'),
    ('', ''),
    ('\x1b[31m', '\\x1b[31m'), ('\a\0', '\\x07\\x00'), ('\x9b2J', '\\x9b2J'),
    ('\u202eevil', '\\u202eevil'), ('a\nb\r', 'a\\nb\\r'),
    ('\u2028\x85', '\\u2028\\x85'), ('\ud800', '\\ud800')])
def test_unprintable_characters_are_escaped(text, shown):
    assert printable(text) == shown


def test_stream_keeps_line_feeds_and_tabs():
    written = io.StringIO()
    Stream(written).write('a\tb\n\x1b\u202e\n')
    assert written.getvalue() == 'a\tb\n\\x1b\\u202e\n'


def test_stream_passes_other_attributes_on():
    written = io.StringIO()
    assert Stream(written).isatty() is False
