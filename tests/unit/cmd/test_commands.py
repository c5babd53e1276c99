"""The commands of nova-sched-manage and of other packages."""

import subprocess
import sys

from cliff import command
import pytest

from nova_sched.cmd import manage
from nova_sched.cmd.manage import db


@pytest.fixture(autouse=True)
def called(monkeypatch):
    """A fixed name of the program."""
    monkeypatch.setattr(manage.ManageApp, 'NAME', 'sched')
    monkeypatch.setattr(sys, 'argv', ['/usr/bin/sched'])


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package with two commands, one of which cannot be imported."""
    (tmp_path / 'rack_commands.py').write_text(
        'from cliff import command\n'
        'class Count(command.Command):\n'
        '    """Count racks."""\n'
        '    def take_action(self, parsed_args):\n'
        '        self.app.stdout.write("7 racks\\n")\n')
    (tmp_path / 'torn_rack_commands.py').write_text('1 / 0\n')
    info = tmp_path / 'racks-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: racks\nVersion: 1.0\n')
    (info / 'top_level.txt').write_text('rack_commands\n')
    (info / 'entry_points.txt').write_text(
        '[nova_sched.manage]\nrack_count = rack_commands:Count\n'
        'rack_tear = torn_rack_commands:Tear\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(command, '_dists_by_mods', None)


def test_one_that_cannot_be_imported_keeps_no_other_from_running():
    commands = manage.Commands('nova_sched.manage')

    assert {'db version', 'rack count', 'rack tear'} <= set(commands.commands)
    assert commands.find_command(['db', 'version'])[0] is db.Version
    with pytest.raises(ZeroDivisionError):
        commands.find_command(['rack', 'tear'])


def test_another_package_adds_one(capsys):
    assert manage.main(['rack', 'count']) == 0
    assert capsys.readouterr().out == '7 racks\n'


def test_libraries_that_it_loads_print_nothing(tmp_path):
    ended = subprocess.run(
        [sys.executable, '-c',
         'import sys; from nova_sched.cmd import manage; '
         'sys.exit(manage.main(sys.argv[1:]))', '--database',
         f'sqlite:///{tmp_path}/made.sqlite', 'db', 'sync'],
        capture_output=True, text=True, timeout=60, check=True)

    assert ended.stderr == ''


@pytest.mark.parametrize(('words', 'is_shown'), [
    (['rack', 'count'], True), (['db', 'version'], False)])
def test_help_names_the_package_that_adds_one(capsys, words, is_shown):
    assert manage.main(['help', *words]) == 0
    assert ('provided by the racks plugin' in capsys.readouterr().out
            ) == is_shown

