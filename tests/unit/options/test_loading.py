"""Which files are read when the command line names none."""

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
    """An empty home directory; files elsewhere, such as in /etc, do not count.
    """
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

    def test_own_file_in_the_home_directory(self, home):
        """~/.nova-sched/nova-sched.conf is read, once."""
        own = made(home, '.nova-sched/nova-sched.conf')
        made(home, '.nova-sched/nova-sched.conf.d/a.conf', *self.NOVAS)

        assert loading.default_paths() == (
            own, [str(home / '.nova-sched/nova-sched.conf.d')])

    @pytest.mark.parametrize(('called', 'more'), [
        ('nova-sched', ()),
        ('/usr/bin/nova-scheduler', ('.nova-sched/nova-sched.conf',))])
    def test_without_one_or_under_novas_name_what_nova_reads(
            self, home, called, more):
        """A machine with Nova's files only is configured by them.

        Called nova-scheduler, it leaves its own file to others.
        """
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

    def test_without_any_the_defaults(self, home):
        """No file is no error."""
        assert loading.default_paths() == ([], [])

    def test_are_those_that_a_configuration_is_made_of(self, home):
        made(home, '.nova-sched/nova-sched.conf')
        (home / '.nova').mkdir()
        (home / '.nova/nova.conf').write_text('[DEFAULT]\nhost = novas\n')

        conf = config.new_conf(called=loading.program('nova-scheduler'))
        assert (conf.prog, conf.project, conf.host) == (
            'nova-scheduler', 'nova', 'novas')
        assert config.new_conf().project == 'nova_sched'


class TestFilesThatCannotBeRead:
    """Each is a mistake in the command line, and told in words."""

    def refusal(self, *args):
        with pytest.raises(exception.ConfigurationError) as refused:
            config.new_conf(list(args))
        return str(refused.value)

    @pytest.mark.parametrize('option, kind', [
        ('--config-file', 'file'), ('--config-dir', 'directory')])
    def test_is_one_that_there_is_not(self, home, option, kind):
        path = str(home / 'no')
        assert self.refusal(option, path) == (
            f'{option} = {path!r}: no such {kind}; name one that exists')

    def test_is_one_that_another_user_has(self, home, monkeypatch):
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

    def test_is_one_that_holds_something_else(self, home):
        path = home / 'odd.conf'
        path.write_text('garbage')
        assert self.refusal('--config-file', str(path)).startswith(
            f"--config-file = '{path}': ")

    @pytest.mark.parametrize('path', ['odd.conf', 'odd.d/a.conf'])
    def test_is_one_that_is_no_text(self, home, path):
        (home / 'odd.d').mkdir()
        path = home / path
        path.write_bytes(b'\x7fELF\xff\xfe')
        where = (('--config-dir', path.parent) if path.parent != home
                 else ('--config-file', path))
        assert self.refusal(*map(str, where)).startswith(
            f"--config-file = '{path}': it is no text: 'utf-8' codec ")

    def test_is_a_directory_instead(self, home):
        assert self.refusal('--config-file', str(home)) == (
            f"--config-file = '{home}': Is a directory")


class TestConfigFiles:
    def test_are_none_before_anything_is_parsed(self):
        assert files.config_files(cfg.ConfigOpts()) == []

    def test_are_those_named_and_those_of_directories_in_order(self, home):
        (home / 'b.d').mkdir()
        for name in ('one.conf', 'b.d/2.conf', 'b.d/1.conf', 'b.d/3.txt'):
            (home / name).write_text('[A]\nx = 1\n')
        conf = config.new_conf(['--config-file', str(home / 'one.conf'),
                                '--config-dir', str(home / 'b.d')])
        assert files.config_files(conf) == [
            str(home / name) for name in ('one.conf', 'b.d/1.conf',
                                          'b.d/2.conf')]
        assert files.raw_values(conf, 'a', 'x') == ['1', '1', '1']

    def test_of_default_directories_come_before_one_that_is_named(self, home):
        """As the library reads them: the last one counts."""
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
    def test_are_in_the_order_of_the_command_line(
            self, home, monkeypatch, words, order):
        """Of default ones, and of several directories, as well."""
        paths = made(home, 'b.d/b.conf', 'c.d/c.conf', 'one.conf',
                     '.nova/nova.conf', '.nova/nova.conf.d/z.conf')
        for path in paths:
            pathlib.Path(path).write_text(f'[DEFAULT]\nhost = {path}\n')
        monkeypatch.chdir(home)

        conf = config.new_conf(words.split())

        found = [os.path.abspath(path) for path in files.config_files(conf)]
        assert found == [str(home / path) for path in order.split()]
        assert conf.host == found[-1]

    def test_may_be_in_the_home_directory_of_the_user(self, home):
        (home / 'one.conf').write_text('[DEFAULT]\nx = 1\nx = 2\n')
        assert files.sections_of(os.path.join('~', 'one.conf')) == {
            'DEFAULT': {'x': ['1', '2']}}

    @pytest.mark.parametrize('text', [None, 'garbage', '[A]\nx = 2\n'])
    def test_count_as_they_were_read(self, home, text):
        """What becomes of them later says nothing until they are reloaded."""
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

    def test_say_nothing_of_what_is_not_in_them(self, home):
        conf = config.new_conf([], [])
        assert files.raw_values(conf, None, 'x') == []
