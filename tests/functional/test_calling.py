"""The Python program in doc/source/calling.rst works."""

import pathlib
import re
import textwrap

import pytest

pytestmark = pytest.mark.real

PAGE = pathlib.Path(__file__).parents[2] / 'doc/source/calling.rst'


def test_documented_program_prints_a_host(stage, capsys):
    stage.cloud(4, live=False)
    stage.daemon()
    program, = re.findall(r'code-block:: python\n\n((?:   .*\n|\n)+)',
                          PAGE.read_text())

    exec(textwrap.dedent(program).replace(
        '/etc/nova/nova.conf', str(stage.config_file())), {})

    assert re.fullmatch(r'(fake-\d{4}) \1\n', capsys.readouterr().out)
