"""The failure of a test that waits."""

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


def test_true_result_is_returned():
    found = iter(([], None, 'it'))

    assert waiting.until(lambda: next(found), interval=0) == 'it'


def test_failure_has_the_text_and_the_last_result():
    assert failure(list, what='a line').splitlines()[:2] == [
        'not within 0 seconds: a line', 'last: []']


def test_failure_without_a_text_has_the_condition():
    thing = Thing()

    assert 'thing.parts == [2]' in failure(lambda: thing.parts == [2])


def test_failure_has_the_variables_of_the_condition():
    """The result of a function, and the attributes of an object."""
    thing, lines = Thing(), lambda: ['a', 'b']

    text = failure(lambda each=7: thing.parts and lines() and each == 8)

    assert "thing: {'parts': ['one']}" in text
    assert "lines: ['a', 'b']" in text
    assert 'each: 7' in text
    assert "of: {'parts': ['one']}" in failure(thing.complete)
