"""IsolatedHostsFilter."""

import pytest

from nova_sched.scheduler.filters.isolated_hosts_filter import (
    IsolatedHostsFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.builders.rules import configured
from tests.builders.rules import survivors

BLOCK = hosts(a_host('a'), a_host('b'))


def a_rule(images=('i',), isolated=('a',), restrict=True):
    return configured(
        IsolatedHostsFilter, isolated_images=list(images),
        isolated_hosts=list(isolated),
        restrict_isolated_hosts_to_isolated_images=restrict)


def with_image(image_id):
    return a_request(image=image_id and an_image(id=image_id))


@pytest.mark.parametrize(('options', 'image', 'left'), [
    ({}, 'i', 'a'),
    ({}, 'other', 'b'),
    ({}, None, 'b'),
    ({'restrict': False}, 'i', 'a'),
    ({'restrict': False}, 'other', 'ab'),
    ({'restrict': False}, None, 'ab'),
    ({'images': []}, 'i', 'b'),
    ({'images': [], 'restrict': False}, 'i', 'ab'),
    ({'isolated': []}, 'i', ''),
    ({'isolated': [], 'restrict': False}, 'i', ''),
    ({'isolated': []}, 'other', 'ab'),
    ({'isolated': ['A']}, 'i', ''),
    ({'images': ['I']}, 'i', 'b'),
])
def test_keeps_isolated_images_and_hosts_together(options, image, left):
    """Names are exact; images isolated without hosts go nowhere."""
    assert ''.join(survivors(a_rule(**options), BLOCK,
                             with_image(image))) == left


def test_an_image_without_an_id_is_not_isolated():
    image = an_image()
    del image.id

    assert survivors(a_rule(), BLOCK, a_request(image=image)) == ['b']


def test_also_judges_rebuilds():
    """An instance must not be rebuilt from an image kept elsewhere."""
    spec = a_request(image=an_image(id='i'),
                     hints={'_nova_check_type': ['rebuild']})

    assert survivors(a_rule(), BLOCK, spec) == ['a']


@pytest.mark.parametrize(('isolated', 'image', 'words'), [
    (['a', 'c'], 'i', 'isolated image i, isolated hosts are a, c'),
    ([], 'i', 'isolated image i, no host is isolated'),
    (['a', 'b', 'c'], 'x', 'isolated hosts are a, b, isolated images are i, '
                           'requested is image x'),
    (['a', 'b'], None, 'isolated hosts are a, b, isolated images are i, '
                       'requested is no image'),
])
def test_says_what_is_isolated(isolated, image, words):
    assert a_rule(isolated=isolated).reason(
        BLOCK, with_image(image)) == words
