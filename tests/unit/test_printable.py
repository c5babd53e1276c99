"""Texts from outside, as they are shown."""

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
def test_what_could_end_or_disguise_a_line_is_an_escape(text, shown):
    assert printable(text) == shown


def test_a_stream_has_lines_and_columns():
    written = io.StringIO()
    Stream(written).write('a\tb\n\x1b\u202e\n')
    assert written.getvalue() == 'a\tb\n\\x1b\\u202e\n'


def test_a_stream_is_otherwise_what_it_leads_to():
    written = io.StringIO()
    assert Stream(written).isatty() is False
