"""What a test says that waits in vain."""

import pytest

from tests.builders import waiting


class Thing:
    def __init__(self):
        self.parts = ['one']

    def complete(self):
        return len(self.parts) > 1


def failure(condition, **kwargs):
    with pytest.raises(AssertionError) as caught:
        waiting.until(condition, seconds=0, interval=0, **kwargs)
    return str(caught.value)


def test_what_comes_true_is_returned():
    found = iter(([], None, 'it'))

    assert waiting.until(lambda: next(found), interval=0) == 'it'


def test_the_words_and_the_last_result_are_told():
    assert failure(list, what='a line').splitlines()[:2] == [
        'not within 0 seconds: a line', 'last: []']


def test_without_words_the_condition_is_told():
    thing = Thing()

    assert 'thing.parts == [2]' in failure(lambda: thing.parts == [2])


def test_what_the_condition_looks_at_is_told():
    """Of a function what it returns, of an object its attributes."""
    thing, lines = Thing(), lambda: ['a', 'b']

    told = failure(lambda each=7: thing.parts and lines() and each == 8)

    assert "thing: {'parts': ['one']}" in told
    assert "lines: ['a', 'b']" in told
    assert 'each: 7' in told
    assert "of: {'parts': ['one']}" in failure(thing.complete)
