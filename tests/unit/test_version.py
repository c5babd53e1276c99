"""Which release says that it is running."""

from importlib import metadata

from nova_sched import version


def test_is_that_which_is_installed():
    assert version.version_string() == metadata.version('nova_sched')


def test_is_unknown_where_none_is_installed(monkeypatch):
    """As from a directory that was copied: the service runs all the same."""
    monkeypatch.setattr(version, 'PACKAGE', 'nova-sched-not-installed')
    assert version.version_string() == 'unknown, not installed'
