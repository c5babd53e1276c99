"""The consoles on the page "Try it first" equal the output of the commands."""

import re
import shlex

import pytest

from tests.unit import doc_pages

#: Values that differ each time.
MADE = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
                  r'|\d{4}-\d\d-\d\dT[0-9:.+]+')


#: (command line, what stands below it) of each console that shows both.
SHOWN = [(command.removeprefix('$ nova-sched-manage '), output)
         for page, text in doc_pages.blocks('console')
         for command, _, output in [text.replace('\\\n', ' ').partition('\n')]
         if page == 'try-it-first.rst' and output
         and not output.startswith('$')]


@pytest.fixture(scope='module')
def file(tmp_path_factory):
    """A configuration with nothing but the database of a fake cloud."""
    folder = tmp_path_factory.mktemp('first')
    file = folder / 'nova-sched.conf'
    file.write_text('[database]\n'
                    f'connection = sqlite:///{folder}/cloud.sqlite\n')
    return file


def test_the_page_has_consoles():
    assert len(SHOWN) >= 5


@pytest.mark.parametrize(('command', 'output'), SHOWN,
                         ids=[command for command, _ in SHOWN])
def test_consoles_show_the_output(run, plans, file, command, output):
    """Three dots stand for any lines."""
    assert run('--config-file', file, 'cloud', 'fake', '--once').code == 0

    written = MADE.sub('*', run('--config-file', file,
                                *shlex.split(command)).out)
    wanted = MADE.sub('*', f'{output}\n')
    pattern = ''.join('(?:.*\n)*' if part == '...\n' else re.escape(part)
                      for part in wanted.splitlines(keepends=True))
    assert re.fullmatch(pattern, written), written
