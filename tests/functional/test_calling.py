"""The page for callers: its program in Python gets an answer."""

import pathlib
import re
import textwrap

import pytest

pytestmark = pytest.mark.real

PAGE = pathlib.Path(__file__).parents[2] / 'doc/source/calling.rst'


def test_the_program_in_python_prints_a_host(stage, capsys):
    stage.cloud(4, live=False)
    stage.daemon()
    program, = re.findall(r'code-block:: python\n\n((?:   .*\n|\n)+)',
                          PAGE.read_text())

    exec(textwrap.dedent(program).replace(
        '/etc/nova/nova.conf', str(stage.config_file())), {})

    assert re.fullmatch(r'(fake-\d{4}) \1\n', capsys.readouterr().out)
