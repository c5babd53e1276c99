"""Which files are read when the command line names none."""

import pytest

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
