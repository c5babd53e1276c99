"""The plug-ins on doc/source/plugins.rst work as printed."""

import sys

import pytest

from nova_sched import conf as config
from nova_sched.plugins import loading as plugins
from tests.unit import doc_pages

PAGE = 'plugins.rst'
MODULE = 'my_plugins'


def texts(kind):
    return [text for page, text in doc_pages.blocks(kind) if page == PAGE]


@pytest.fixture(params=['nova_sched', 'nova'])
def my_plugins(request, tmp_path, monkeypatch):
    """A module with the classes of the page.

    Their base classes are imported under either name.
    """
    (tmp_path / f'{MODULE}.py').write_text('\n\n'.join(
        text.replace('from nova_sched.', f'from {request.param}.')
        for text in texts('python') if MODULE not in text))
    monkeypatch.syspath_prepend(tmp_path)
    yield MODULE
    sys.modules.pop(MODULE, None)


@pytest.fixture
def written_tests(my_plugins):
    """The functions of the page's test file: dict name -> function."""
    [text] = [text for text in texts('python') if MODULE in text]
    names = {}
    exec(compile(text, PAGE, 'exec'), names)
    return {name: value for name, value in names.items()
            if name.startswith('test_')}


def test_the_tests_on_the_page_pass(written_tests):
    assert len(written_tests) == 4
    for test in written_tests.values():
        test()


def test_the_service_starts_with_them(my_plugins, tmp_path):
    [text] = texts('ini')
    file = tmp_path / 'nova-sched.conf'
    file.write_text(text)
    conf = config.new_conf([], [str(file)])

    assert 'SpecifiedHostFilter' in named(plugins.load_filters(conf))
    weighers = named(plugins.load_weighers(conf))
    assert {'PreferredHostWeigher', 'RAMWeigher'} <= weighers


def named(rules):
    return {type(rule).__name__ for rule in rules}
