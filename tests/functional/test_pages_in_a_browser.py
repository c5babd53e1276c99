"""Pages of --html in a browser: on a phone, on a desktop, in dark mode."""

import zlib

import pytest

from nova_sched.page import writing
from tests.builders import documents
from tests.functional import browser as browsers

SCREENS = {'phone': (360, 800), 'desktop': (1280, 800)}
LONG = 'compute-with-a-very-long-name.rack-17.row-3.example.org'


def a_document(kind, count):
    """A document of a kind, of so many hosts."""
    verdicts = documents.of_many(count, kind != 'refused')
    verdicts[LONG] = verdicts.pop(documents.names(1)[0])
    if kind == 'planned':
        return documents.a_plan(verdicts, pick=documents.a_pick(LONG))
    return documents.an_explanation(
        documents.a_decision(kind), verdicts,
        documents.a_pick(LONG) if kind == 'placed' else None)


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    with browsers.running(tmp_path_factory.mktemp('browser')) as made:
        yield made


@pytest.fixture(scope='module', params=[
    (kind, count) for kind in ('placed', 'refused', 'planned')
    for count in (12, 10000)], ids=lambda param: '-'.join(map(str, param)))
def page(request, tmp_path_factory):
    """Path of a page, and the number of its hosts."""
    path = tmp_path_factory.mktemp('page') / 'page.html'
    writing.write(path, a_document(*request.param))
    return path, request.param[1]


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('screen', SCREENS)
def test_page_fits_the_screen_without_errors(browser, page, screen, scheme):
    width, height = SCREENS[screen]
    path, count = page
    browser.show(path, width, height, scheme)

    assert browser.value('document.documentElement.scrollWidth') == width
    assert browser.value(
        'document.querySelectorAll(".cells li").length') == count
    assert is_drawn(browser.picture())
    assert not [event for event in browser.events if event[0] in (
        'Log.entryAdded', 'Runtime.consoleAPICalled',
        'Runtime.exceptionThrown')]
    assert {arguments['request']['url'] for name, arguments in browser.events
            if name == 'Network.requestWillBeSent'} == {f'file://{path}'}


def test_dark_mode_has_a_dark_background(browser, page):
    def background(scheme):
        browser.show(page[0], 1280, 800, scheme)
        return browser.value('getComputedStyle(document.body).backgroundColor')

    assert (background('light'), background('dark')) == (
        'rgb(244, 245, 247)', 'rgb(18, 21, 26)')


@pytest.mark.parametrize('screen', SCREENS)
def test_a_tap_on_a_host_shows_its_name_and_reason(browser, page, screen):
    browser.show(page[0], *SCREENS[screen])
    browser.tap('.cells li.g1')

    shown = browser.value("""[...document.querySelectorAll(".cells p")]
        .filter(p => p.offsetParent || p.getClientRects().length)
        .map(p => p.innerText)""")
    assert len(shown) == 1
    name, reason = shown[0].splitlines()
    assert name.startswith(('host-', 'compute-'))
    assert 'too little' in reason


def test_legend_entry_hides_its_hosts(browser, page):
    def shown(group):
        return browser.value(
            f"""[...document.querySelectorAll(".cells .g{group}")]
            .some(li => li.getClientRects().length)""")
    browser.show(page[0], 1280, 800)
    assert (shown(1), shown(2)) == (True, True)
    browser.tap('#show-1')

    assert (shown(1), shown(2)) == (False, True)


def test_hosts_can_be_shown_as_a_list(browser, page):
    browser.show(page[0], *SCREENS['phone'])
    browser.tap('#as-list')

    assert browser.value("""[...document.querySelectorAll(".cells p")]
        .every(p => getComputedStyle(p).display == "block")""")
    assert browser.value('document.documentElement.scrollWidth') == 360


def is_drawn(png):
    """Whether a PNG has more than one colour in its middle."""
    at, data = 8, b''
    while at < len(png):
        size = int.from_bytes(png[at:at + 4])
        if png[at + 4:at + 8] == b'IDAT':
            data += png[at + 8:at + 8 + size]
        at += 12 + size
    return len({*zlib.decompress(data)}) > 32
