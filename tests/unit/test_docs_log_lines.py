"""doc/source/log-lines.rst explains each line of the log.

An entry is a bullet: levels, and a part of the line's format in which ``...``
stands for each value.  Lines without constant text are listed by the module
that writes them.
"""

import logging
import re

import pytest

from nova_sched.daemon import systemd
from tests.builders import log_lines
from tests.unit import doc_pages

ENTRIES = log_lines.of_page()


@pytest.fixture
def lines():
    return log_lines.of_code()


def test_each_line_of_the_log_is_explained(lines):
    missing = [f'* {min(levels)} ``{text}``: ({place})'
               for place, levels, text in lines
               if not [entry for explained, entry in ENTRIES
                       if entry in text and explained & levels]]
    assert missing == []


def test_each_explained_line_is_logged_at_its_levels(lines):
    for levels, entry in ENTRIES:
        assert len(re.findall(r'\w', entry)) > 8
        assert levels == {level for _, logged, text in lines if entry in text
                          for level in logged & levels}, entry


def test_runbooks_quote_lines_of_the_log(lines):
    for quoted in re.findall('``([A-Z][^`]* [^`]*)``',
                             doc_pages.PAGES['alerts.rst']):
        line = ' '.join(quoted.split())
        assert line == 'Connection refused' or [
            text for *_, text in lines if line in text], line


def test_line_is_emitted_by_the_call_of_its_logger(monkeypatch):
    monkeypatch.setattr(logging.Logger, 'handle', logging.Logger.handle)
    emitted = set()
    log_lines.watch(emitted)
    before = set(log_lines.unemitted(emitted))
    systemd.Notifier('/nowhere').ready()

    [line] = before - set(log_lines.unemitted(emitted))
    assert 'WARNING Cannot notify systemd of ... at ...: ...' in line
