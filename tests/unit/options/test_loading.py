"""Which files are read when the command line names none."""

import errno
import os

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.options import files
from nova_sched.options import loading


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home directory, and no files of Nova's."""
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setattr(loading, 'NOVA_CONF', str(tmp_path / 'nova.conf'))
    monkeypatch.setattr(loading, 'NOVA_CONF_DIR', str(tmp_path / 'nova.d'))
    return tmp_path


class TestDefaultConfigFiles:
    def test_own_file_in_the_home_directory(self, home):
        """~/.nova-sched/nova-sched.conf is read, once."""
        path = home / '.nova-sched' / 'nova-sched.conf'
        path.parent.mkdir()
        path.touch()
        (home / 'nova.conf').touch()

        assert [str(path)] == loading.default_config_files()

    def test_without_one_novas_file(self, home):
        """A machine with Nova's file only is configured by it."""
        path = home / 'nova.conf'
        path.touch()
        (home / 'nova.d').mkdir()

        assert [str(path)] == loading.default_config_files()
        assert [str(home / 'nova.d')] == loading.default_config_dirs()

    def test_without_any_the_defaults(self, home):
        """No file is no error."""
        assert loading.default_config_files() == []
        assert loading.default_config_dirs() == []


class TestFilesThatCannotBeRead:
    """Each is a mistake in the command line, and told in words."""

    def refusal(self, *args):
        with pytest.raises(exception.ConfigurationError) as refused:
            config.new_conf(list(args))
        return str(refused.value)

    def test_is_one_that_there_is_not(self, home):
        path = str(home / 'no.conf')
        assert self.refusal('--config-file', path) == (
            f'--config-file = {path!r}: no such file; name one that exists')

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

    def test_is_a_directory_that_there_is_not(self, home):
        path = str(home / 'no.d')
        assert self.refusal('--config-dir', path) == (
            f'--config-dir = {path!r}: no such directory; name one that '
            'exists')


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
