"""Texts from requests and databases cannot forge output of commands."""

import subprocess

import pytest

from tests.builders import clouds
from tests.builders import decisions

#: What ends a line, moves the cursor, rings, or turns the text around.
WORDS = 'x\n| forged |\r\x1b[2J\a\x9b31m\u202e\u2028'
FORMATS = ['table', 'value', 'yaml', 'json']


def lines(ended):
    """The lines of a command's output, which contain no hostile text."""
    text = ended.out + ended.err
    assert not [each for each in text if not each.isprintable()
                and each != '\n'], text
    found = ended.out.splitlines()
    assert not [line for line in found if line.startswith('| forged |')]
    assert 'forged' in ended.out
    return found


@pytest.fixture
def arguments(cloud, decided, tmp_path):
    """Arguments of commands about a decision on a cloud, both hostile."""
    cloud.load_nodes(
        clouds.a_compute_node(f'a{WORDS}', memory_mb=8000, free_ram_mb=8000),
        clouds.a_compute_node(f'b{WORDS}', memory_mb=900, free_ram_mb=900))
    file = tmp_path / 'mine.conf'
    file.write_text(decided(
        (WORDS, {'memory_mb': 1000}),
        (WORDS, {'memory_mb': 1000, 'availability_zone': WORDS}),
        more=[decisions.a_refusal(WORDS, WORDS)]))
    return ['--config-file', file]


@pytest.mark.parametrize('form', [*FORMATS, 'csv'])
class TestLists:
    def test_decisions(self, run, arguments, form):
        found = lines(run(*arguments, 'decision', 'list', '-f', form))
        if form in ('value', 'csv'):
            assert len(found) == 3 + (form == 'csv')

    def test_hosts(self, run, arguments, form):
        found = lines(run(*arguments, 'host', 'list', '-f', form))
        if form in ('value', 'csv'):
            assert len(found) == 2 + (form == 'csv')

    @pytest.mark.parametrize('ram', [800, 100000])
    def test_plan(self, run, arguments, plans, form, ram):
        """A refusal is one error for programs."""
        ended = run(*arguments, 'request', 'plan', '--ram', ram,
                    '--zone', 'nova' if ram == 800 else WORDS, '-f', form)
        found = lines(ended) if ended.out.strip('"\n') and not (
            ram != 800 and form == 'csv') else []
        if form == 'value':
            assert len(found) == (ram == 800)


@pytest.mark.parametrize('form', [*FORMATS, 'shell'])
class TestShown:
    @pytest.mark.parametrize('number', [1, 2, 3])
    def test_decision(self, run, arguments, form, number):
        lines(run(*arguments, 'decision', 'show', number, '-f', form))

    @pytest.mark.parametrize('number', [1, 2])
    def test_explanation(self, run, arguments, form, number):
        lines(run(*arguments, 'decision', 'explain', number, '-f', form,
                  '--all-hosts'))

    def test_host(self, run, arguments, form):
        lines(run(*arguments, 'host', 'show', f'a{WORDS}', '-f', form))


def test_a_shell_runs_none_of_them(run, arguments, cloud, tmp_path):
    name = f'"$(touch {tmp_path}/run)`touch {tmp_path}/run`\\"$HOME'
    cloud.load_nodes(clouds.a_compute_node(name))
    ended = run(*arguments, 'host', 'show', name, '-f', 'shell', '-c', 'host')
    script = f'{ended.out}\nprintf %s "$host"'
    assert subprocess.run(['sh', '-c', script], check=True, text=True,
                          capture_output=True).stdout == name
    assert not (tmp_path / 'run').exists()


def test_errors_escape_them_as_well(run, arguments):
    ended = run(*arguments, 'decision', 'show', WORDS + 'y')
    assert ended.code == 2
    assert '\x1b' not in ended.err
    assert '\\x1b' in ended.err
