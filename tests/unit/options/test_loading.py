"""The configuration files that are read, and the command line."""

import errno
import os
import pathlib

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.options import files
from nova_sched.options import loading


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home directory; files elsewhere, as in /etc, are hidden."""
    monkeypatch.setenv('HOME', str(tmp_path))
    for name in ('find_config_files', 'find_config_dirs'):
        monkeypatch.setattr(cfg, name, _below(tmp_path, getattr(cfg, name)))
    monkeypatch.setattr(loading, 'NOVAS', loading.NOVAS._replace(
        distributed=(str(tmp_path / 'share/nova-dist.conf'),)))
    return tmp_path


def _below(directory, find):
    return lambda *words: [path for path in find(*words)
                           if path.startswith(str(directory))]


def made(home, *names):
    """Make files of these names, and their directories; their paths."""
    paths = [home / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [str(path) for path in paths]


class TestDefaultPaths:
    NOVAS = ('share/nova-dist.conf', '.nova/nova.conf',
             '.nova/nova-scheduler.conf')

    def test_the_services_own_file_comes_first(self, home):
        own = made(home, '.nova-sched/nova-sched.conf')
        made(home, '.nova-sched/nova-sched.conf.d/a.conf', *self.NOVAS)

        assert loading.default_paths() == (
            own, [str(home / '.nova-sched/nova-sched.conf.d')])

    @pytest.mark.parametrize(('called', 'more'), [
        ('nova-sched', ()),
        ('/usr/bin/nova-scheduler', ('.nova-sched/nova-sched.conf',))])
    def test_without_own_files_or_under_novas_name_novas_files_are_read(
            self, home, called, more):
        novas = made(home, *self.NOVAS)
        made(home, '.nova/nova.conf.d/a.conf',
             '.nova/nova-scheduler.conf.d/a.conf', *more)

        assert loading.default_paths(loading.program(called)) == (
            novas, [str(home / '.nova/nova.conf.d'),
                    str(home / '.nova/nova-scheduler.conf.d')])

    def test_a_directory_of_its_own_is_enough(self, home):
        made(home, '.nova-sched/nova-sched.conf.d/a.conf', *self.NOVAS)

        assert loading.default_paths() == (
            [], [str(home / '.nova-sched/nova-sched.conf.d')])

    def test_a_machine_without_files_is_no_error(self, home):
        assert loading.default_paths() == ([], [])

    def test_a_configuration_is_made_of_these_files(self, home):
        made(home, '.nova-sched/nova-sched.conf')
        (home / '.nova').mkdir()
        (home / '.nova/nova.conf').write_text('[DEFAULT]\nhost = novas\n')

        conf = config.new_conf(called=loading.program('nova-scheduler'))
        assert (conf.prog, conf.project, conf.host) == (
            'nova-scheduler', 'nova', 'novas')
        assert config.new_conf().project == 'nova_sched'


class TestFilesThatCannotBeRead:
    """A file of the command line that cannot be read is a clear error."""

    def refusal(self, *args):
        with pytest.raises(exception.ConfigurationError) as refused:
            config.new_conf(list(args))
        return str(refused.value)

    @pytest.mark.parametrize('option, kind', [
        ('--config-file', 'file'), ('--config-dir', 'directory')])
    def test_missing(self, home, option, kind):
        path = str(home / 'no')
        assert self.refusal(option, path) == (
            f'{option} = {path!r}: no such {kind}; name one that exists')

    def test_owned_by_another_user(self, home, monkeypatch):
        path = home / 'secret.conf'
        path.touch()
        read = open

        def refuse(name, *args, **kwargs):
            if str(name) == str(path):
                raise PermissionError(errno.EACCES, 'denied', name)
            return read(name, *args, **kwargs)
        monkeypatch.setattr('builtins.open', refuse)
        assert self.refusal('--config-file', str(path)) == (
            f"--config-file = '{path}': may not be read by this user")

    def test_without_sections(self, home):
        path = home / 'odd.conf'
        path.write_text('garbage')
        assert self.refusal('--config-file', str(path)).startswith(
            f"--config-file = '{path}': ")

    @pytest.mark.parametrize('path', ['odd.conf', 'odd.d/a.conf'])
    def test_binary(self, home, path):
        (home / 'odd.d').mkdir()
        path = home / path
        path.write_bytes(b'\x7fELF\xff\xfe')
        where = (('--config-dir', path.parent) if path.parent != home
                 else ('--config-file', path))
        assert self.refusal(*map(str, where)).startswith(
            f"--config-file = '{path}': it is no text: 'utf-8' codec ")

    def test_a_directory_in_its_place(self, home):
        assert self.refusal('--config-file', str(home)) == (
            f"--config-file = '{home}': Is a directory")


class TestConfigFiles:
    def test_an_unparsed_configuration_has_no_files(self):
        assert files.config_files(cfg.ConfigOpts()) == []

    def test_named_files_come_before_files_of_directories(self, home):
        (home / 'b.d').mkdir()
        for name in ('one.conf', 'b.d/2.conf', 'b.d/1.conf', 'b.d/3.txt'):
            (home / name).write_text('[A]\nx = 1\n')
        conf = config.new_conf(['--config-file', str(home / 'one.conf'),
                                '--config-dir', str(home / 'b.d')])
        assert files.config_files(conf) == [
            str(home / name) for name in ('one.conf', 'b.d/1.conf',
                                          'b.d/2.conf')]
        assert files.raw_values(conf, 'a', 'x') == ['1', '1', '1']

    def test_default_directories_come_before_a_named_file(self, home):
        made(home, '.nova/nova.conf.d/z.conf')
        (home / 'one.conf').write_text('[A]\nx = 1\n')
        conf = config.new_conf(['--config-file', str(home / 'one.conf')])

        assert files.config_files(conf) == [
            str(home / '.nova/nova.conf.d/z.conf'), str(home / 'one.conf')]

    @pytest.mark.parametrize(('words', 'order'), [
        ('--config-dir=b.d --config-dir c.d --config-file one.conf',
         'b.d/b.conf c.d/c.conf one.conf'),
        ('--config-file one.conf --config-dir .nova/nova.conf.d',
         'one.conf .nova/nova.conf.d/z.conf'),
        ('--config-dir b.d', '.nova/nova.conf b.d/b.conf')])
    def test_named_paths_are_in_the_order_of_the_command_line(
            self, home, monkeypatch, words, order):
        paths = made(home, 'b.d/b.conf', 'c.d/c.conf', 'one.conf',
                     '.nova/nova.conf', '.nova/nova.conf.d/z.conf')
        for path in paths:
            pathlib.Path(path).write_text(f'[DEFAULT]\nhost = {path}\n')
        monkeypatch.chdir(home)

        conf = config.new_conf(words.split())

        paths = [os.path.abspath(path) for path in files.config_files(conf)]
        assert paths == [str(home / path) for path in order.split()]
        assert conf.host == paths[-1]

    def test_a_path_may_begin_with_a_tilde(self, home):
        (home / 'one.conf').write_text('[DEFAULT]\nx = 1\nx = 2\n')
        assert files.sections_of(os.path.join('~', 'one.conf')) == {
            'DEFAULT': {'x': ['1', '2']}}

    @pytest.mark.parametrize('text', [None, 'garbage', '[A]\nx = 2\n'])
    def test_later_changes_count_after_a_reload(self, home, text):
        path = home / 'one.conf'
        path.write_text('[A]\nx = 1\n')
        conf = config.new_conf(['--config-file', str(path)])
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
        assert files.raw_values(conf, 'a', 'x') == ['1']
        assert conf.reload_config_files() == (text == '[A]\nx = 2\n')
        assert files.raw_values(conf, 'a', 'x') == [
            '2' if conf.reload_config_files() else '1']

    def test_an_absent_option_has_no_values(self, home):
        conf = config.new_conf([], [])
        assert files.raw_values(conf, None, 'x') == []


class TestCommandLine:
    @pytest.mark.parametrize(('args', 'status'), [
        (['--help'], 0), (['--no-such-option'], 2),
        (['--config-file'], 2), (['--debug=perhaps'], 2)])
    def test_help_and_a_mistake_end_the_process(self, args, status):
        with pytest.raises(SystemExit) as ended:
            config.new_conf(args, [])

        assert ended.value.code == status

    def test_a_wrong_value_of_a_switch_in_a_file_does_not(self, home, capsys):
        (home / 'one.conf').write_text('[DEFAULT]\ndebug = perhaps\n')
        conf = config.new_conf([], [str(home / 'one.conf')])

        assert conf.reload_config_files()
        assert capsys.readouterr().err == ''
        assert [str(error).partition(' = ')[0] for error
                in config.check(conf)] == ['[DEFAULT] debug']
