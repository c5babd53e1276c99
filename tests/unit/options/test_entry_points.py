"""Entry points are looked up once, and again when a package is installed."""

from importlib import metadata

from nova_sched.options import entry_points

GROUP = 'tests.of.entry.points'


def install(folder, name):
    """Install a package with one entry point in a folder of the path."""
    files = folder / f'{name}-1.0.dist-info'
    files.mkdir()
    (files / 'METADATA').write_text(f'Name: {name}\nVersion: 1.0\n')
    (files / 'entry_points.txt').write_text(f'[{GROUP}]\n{name} = {name}\n')


def test_a_package_that_is_installed_later_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, 'first')
    assert entry_points.named(GROUP).names == {'first'}

    install(tmp_path, 'second')

    assert entry_points.named(GROUP).names == {'first', 'second'}


def test_packages_are_searched_once(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / 'not there')
    entry_points.named(GROUP)
    monkeypatch.setattr(metadata, 'entry_points', None)

    assert not entry_points.named(GROUP)
