"""The pages in doc/, and what stands on them."""

import pathlib
import re

SOURCE = pathlib.Path(__file__).parents[2] / 'doc' / 'source'

#: Path below doc/source -> text.
PAGES = {str(path.relative_to(SOURCE)): path.read_text()
         for path in sorted(SOURCE.rglob('*.rst'))}


def headings(page):
    """The titles on a page: list of texts."""
    return re.findall(r'^(\S.*)\n=+$', PAGES[page], re.MULTILINE)


def blocks(kind):
    """The code blocks of a kind on all pages: list of (page, text)."""
    pattern = rf'^\.\. code-block:: {kind}\n\n((?:   .*\n|\n)+)'
    return [(page, re.sub('^   ', '', text, flags=re.MULTILINE).strip())
            for page, content in PAGES.items()
            for text in re.findall(pattern, content, re.MULTILINE)]


def commands():
    """The command lines of nova-sched-manage: list of (page, line)."""
    return [(page, line)
            for page, text in blocks('console')
            for line in re.findall(r'^\$ (nova-sched-manage .*)$',
                                   text.replace('\\\n', ''), re.MULTILINE)]


def options():
    """The options that pages explain: list of (page, section, name)."""
    return [(page, *found) for page, text in PAGES.items()
            for found in re.findall(r'^:conf:`\[(\w+)\] (\w+)`$', text,
                                    re.MULTILINE)]


def reasons():
    """The words of filters that pages quote: set of (filter, words)."""
    pattern = r'``(\w+) \(([^`]+)\)``'
    return {found for page, text in PAGES.items()
            if page != 'filters/index.rst'
            for line in re.findall(r'^``.*$', text, re.MULTILINE)
            for found in re.findall(pattern, line)}


def links(page):
    """The files that a page links to, relative to it: list of texts."""
    return re.findall(r'<([^<>\s]+\.(?:rst|md|sample))>`_', PAGES[page])
