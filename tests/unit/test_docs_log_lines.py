"""doc/source/log-lines.rst explains each line of the log.

An entry is a bullet: levels, and a part of the line's format in which ``...``
stands for each value.  Lines without constant text are listed by the module
that writes them.
"""

import ast
import pathlib
import re

import pytest

import nova_sched
from tests.unit import doc_pages

PACKAGE = pathlib.Path(nova_sched.__file__).parent
#: Parts that are not in the service.
TOOLS = ('cmd/manage', 'cloud', 'testing')
LEVELS = {'info': 'INFO', 'warning': 'WARNING', 'error': 'ERROR',
          'exception': 'ERROR', 'critical': 'CRITICAL'}
ANY = frozenset(LEVELS.values())


def entries():
    """The bullets of the page: list of (set of levels, text)."""
    return [(set(re.findall('[A-Z]+', levels)), ' '.join(text.split()))
            for levels, text in re.findall(
                r'^\* ([A-Z]+(?: or [A-Z]+)*)\s+``([^`]+)``:',
                doc_pages.PAGES['log-lines.rst'], re.MULTILINE)]


def lines():
    """The lines from INFO on: list of (place, set of levels, text)."""
    found = []
    for path in sorted(PACKAGE.rglob('*.py')):
        name = path.relative_to(PACKAGE)
        if not str(name).startswith(TOOLS):
            tree = ast.parse(path.read_text())
            module = '.'.join(('nova_sched', *name.with_suffix('').parts))
            found += [(f'{name}:{call.lineno}', levels, text)
                      for call, levels, form in _calls(tree)
                      for text in _texts(form, tree, module)]
    return found


def _calls(tree):
    """(call, levels, its format) of each call of a logger."""
    for node in ast.walk(tree):
        if (isinstance(node, ast.Call) and node.args
                and isinstance(node.func, ast.Attribute)
                and ast.unparse(node.func.value).lower().endswith('log')):
            if node.func.attr in LEVELS:
                yield node, {LEVELS[node.func.attr]}, node.args[0]
            elif node.func.attr == 'log':
                yield node, ANY, node.args[1]


def _texts(form, tree, module):
    """The text of a format, values as dots; or the module without a text."""
    if isinstance(form, ast.IfExp):
        return [text for half in (form.body, form.orelse)
                for text in _texts(half, tree, module)]
    if isinstance(form, ast.Name):
        assigned = [node.value for node in ast.walk(tree)
                    if isinstance(node, ast.Assign)
                    and ast.unparse(node.targets[0]) == form.id]
        return [text for value in assigned
                for text in _texts(value, tree, module)] or [module]
    text = form.value if isinstance(form, ast.Constant) else ''
    text = re.sub(r'%(?:\(\w+\))?[\d.]*[a-z]', '...', text)
    return [' '.join(text.split()) if re.search(r'\w', text) else module]


LINES, ENTRIES = lines(), entries()


@pytest.mark.parametrize('place, levels, text', LINES,
                         ids=[place for place, *_ in LINES])
def test_a_line_of_the_log_is_explained(place, levels, text):
    assert [entry for of, entry in ENTRIES if entry in text and of & levels], (
        f'doc/source/log-lines.rst needs a bullet "* {min(levels)} '
        f'``{text[:60]}``: what it means"')


@pytest.mark.parametrize('levels, entry', ENTRIES)
def test_an_explained_line_is_logged_at_its_levels(levels, entry):
    assert len(re.findall(r'\w', entry)) > 8
    assert levels == {level for _, of, text in LINES if entry in text
                      for level in of & levels}
