"""The commands of CONTRIBUTING.rst work as printed."""

import configparser
import pathlib
import re
import shlex
import shutil
import sys

import pytest

TOP = pathlib.Path(__file__).parents[2]
LINES = re.findall(r'^    (\S.*)$', (TOP / 'CONTRIBUTING.rst').read_text(),
                   re.MULTILINE)
#: Built into the shell, or installed by an earlier command.
KNOWN = {'export', 'tox'}


@pytest.mark.parametrize('line', LINES)
def test_the_programs_of_a_command_exist(line):
    program, *words = shlex.split(line)
    programs = [program]
    if program.endswith('with-services.sh'):
        programs.append(words[0])

    assert [name for name in programs if name not in KNOWN
            and not shutil.which(TOP / name)
            and not shutil.which(name, path=pathlib.Path(
                sys.executable).parent)] == []


@pytest.mark.parametrize('line', LINES)
def test_the_paths_of_a_command_exist(line):
    assert [word for word in shlex.split(line)
            if re.match('(tests|tools|doc/source)', word)
            and not (TOP / word).exists()] == []


def test_the_environments_of_tox_exist():
    tox = configparser.ConfigParser()
    tox.read(TOP / 'tox.ini')
    named = {name for line in LINES
             for names in re.findall('^tox -e (.*)$', line)
             for name in names.split(',')}

    assert 'docs' in named
    assert {name for name in named - {'py3'}
            if f'testenv:{name}' not in tox} == set()
