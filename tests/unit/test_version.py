"""The version of the installed package."""

from importlib import metadata

from nova_sched import version


def test_version_is_the_installed_one():
    assert version.version_string() == metadata.version('nova_sched')


def test_version_is_unknown_without_an_installation(monkeypatch):
    """The service also runs from a copied directory."""
    monkeypatch.setattr(version, 'PACKAGE', 'nova-sched-not-installed')
    assert version.version_string.__wrapped__() == 'unknown, not installed'
