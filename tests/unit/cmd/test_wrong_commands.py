"""Errors of commands name the wrong word, and the next step.

They are short, have no traceback, and the exit codes of the page "Send a
request by hand".
"""

import pytest

from nova_sched.cmd.manage import exits
from tests.builders import case_tables

#: Configuration for a cloud of the hosts a and b, both up.
FILE = """
[DEFAULT]
transport_url = kombu+memory://
state_path = {folder}
[database]
connection = {url}
"""

#: Name in a command line -> text of the file that stands there.
FILES = {
    'NO_JSON': '{"flavor": ', 'DEEP': '[' * 100_000, 'LIST': '[]',
    'ODD_FIELD': '{"flavour": {}}', 'ODD_VALUE': '{"num_instances": "two"}',
    'NO_CLOUD': '{"compute_nodes": []}',
    'CONF': '[scheduler]\nmax_attempts = many\n',
    'ODD_FILTER': '[filter_scheduler]\nenabled_filters = RamFiltr\n',
    'TEXT': 'no configuration\n'}

WRONG = case_tables.rows('cmd-wrong', 'wrong')


@pytest.fixture
def command(run, plans, cloud, tmp_path):
    """Function: a command line, with names of FILES, in that cloud."""
    cloud.load(['a', 'b'])
    file = tmp_path / 'nova-sched.conf'
    file.write_text(FILE.format(folder=tmp_path, url=cloud.url))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def command(line):
        words = [str(tmp_path / word) if word in FILES else word
                 for word in line.split()]
        if '--config-file' not in words:
            words[:0] = ['--config-file', file]
        return run(*words)
    return command


@pytest.mark.parametrize('wrong', WRONG, ids=lambda wrong: wrong['line'])
def test_a_wrong_command_names_the_thing_and_the_next_step(command, wrong):
    ended = command(wrong['line'])
    said = ended.err + ended.out

    assert ended.code == getattr(exits, wrong['code']), ended
    assert wrong['named'] in said
    assert wrong['step'] in said
    assert 'Traceback' not in said
    # The rest of the output is the command's answer.
    assert len(ended.err.splitlines()) <= 2
