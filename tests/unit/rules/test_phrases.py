"""Phrases of reasons."""

import pytest

from nova_sched.rules import phrases


@pytest.mark.parametrize('texts', [
    ['fake-0009', 'fake-9', 'fake-10', 'fake-9998', 'fake-10000'],
    ['', '2', '10', 'a', 'a1b9', 'a1b10', 'a2'],
    ['rack1-host2', 'rack1-host10', 'rack10-host1'],
    ['1' * 5000, '2' * 5000]], ids=['hosts', 'parts', 'racks', 'long'])
def test_texts_are_sorted_by_their_numbers(texts):
    assert sorted(set(texts), key=phrases.natural) == texts


def test_long_lists_show_the_first_items():
    assert phrases.listed(f'h{number}' for number in range(8, 15)) == (
        'h8, h9, h10, h11, h12 and 2 more')
