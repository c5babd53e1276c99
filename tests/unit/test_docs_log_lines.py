"""doc/source/log-lines.rst explains each line of the log.

An entry is a bullet: levels, and a part of the line's format in which ``...``
stands for each value.  Lines without constant text are listed by the module
that writes them.
"""

import re

import pytest

from tests.builders import log_lines
from tests.unit import doc_pages

LINES, ENTRIES = log_lines.of_code(), log_lines.of_page()


@pytest.mark.parametrize('place, levels, text', LINES,
                         ids=[place for place, *_ in LINES])
def test_a_line_of_the_log_is_explained(place, levels, text):
    assert [entry for of, entry in ENTRIES if entry in text and of & levels], (
        f'doc/source/log-lines.rst needs a bullet "* {min(levels)} '
        f'``{text[:60]}``: what it means"')


def test_runbooks_quote_lines_of_the_log():
    for quoted in re.findall('``([A-Z][^`]* [^`]*)``',
                             doc_pages.PAGES['alerts.rst']):
        line = ' '.join(quoted.split())
        assert line == 'Connection refused' or [
            text for *_, text in LINES if line in text], line


@pytest.mark.parametrize('levels, entry', ENTRIES)
def test_an_explained_line_is_logged_at_its_levels(levels, entry):
    assert len(re.findall(r'\w', entry)) > 8
    assert levels == {level for _, of, text in LINES if entry in text
                      for level in of & levels}
