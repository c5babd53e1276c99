"""Log lines from INFO on: documented, in the code, and emitted by tests."""

import ast
import functools
import logging
import pathlib
import re

import nova_sched

PAGE = pathlib.Path(__file__).parents[2] / 'doc/source/log-lines.rst'
PACKAGE = pathlib.Path(nova_sched.__file__).parent
#: How the text of a line begins that has only values.
MODULE = 'nova_sched.'
#: Parts that are not in the service.
TOOLS = ('cmd/manage', 'cloud', 'testing')
LEVELS = {'info': 'INFO', 'warning': 'WARNING', 'error': 'ERROR',
          'exception': 'ERROR', 'critical': 'CRITICAL'}
ANY = frozenset(LEVELS.values())


@functools.cache
def of_code():
    """The lines in the code: list of (place, set of levels, text)."""
    found = []
    for path in sorted(PACKAGE.rglob('*.py')):
        name = path.relative_to(PACKAGE)
        if not str(name).startswith(TOOLS):
            tree = ast.parse(path.read_text())
            module = MODULE + '.'.join(name.with_suffix('').parts)
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
    return [_text(form.value if isinstance(form, ast.Constant) else '',
                  module)]


def _text(form, module):
    text = re.sub(r'%(?:\(\w+\))?[\d.]*[a-z]', '...', form)
    return ' '.join(text.split()) if re.search(r'\w', text) else module


def of_page():
    """The bullets of the page: list of (set of levels, text)."""
    return [(set(re.findall('[A-Z]+', levels)), ' '.join(text.split()))
            for levels, text in re.findall(
                r'^\* ([A-Z]+(?: or [A-Z]+)*)\s+``([^`]+)``:',
                PAGE.read_text(), re.MULTILINE)]


def watch(emitted):
    """Add each line that this process emits from now on to a set.

    A line is a tuple of texts: place, level, format.
    """
    handle = logging.Logger.handle

    def noted(logger, record):
        if (record.levelno >= logging.INFO
                and record.pathname.startswith(str(PACKAGE))):
            emitted.add((f'{record.pathname}:{record.lineno}',
                         record.levelname, str(record.msg)))
        return handle(logger, record)
    logging.Logger.handle = noted


def unemitted(emitted):
    """The lines of the page that are not in a set of ``watch``: list."""
    page, forms = of_page(), {}
    for place, level, form in emitted:
        place = place.removeprefix(f'{PACKAGE}/')
        forms.setdefault((place, level), set()).add(_text(form, ''))
    missing = []
    for place, levels, text in of_code():
        for level in sorted({level for of, entry in page if entry in text
                             for level in of & levels}):
            found = forms.get((place, level), ())
            if text not in found and not (found and text.startswith(MODULE)):
                missing.append(f'{place}: {level} {text}')
    return missing
