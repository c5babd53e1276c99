"""Sums of several processes; none is lost."""

import os
import signal

import pytest

from nova_sched.observe import shared_sums
from nova_sched.observe.shared_sums import SharedSums
from tests.builders.forks import in_child
from tests.builders.forks import stopped_in


def add(sums, number, key, amount):
    """Add as the process of a number does, and be killed."""
    sums.begin(number)
    sums.mine[sums.place(key)] += amount
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def sums():
    return SharedSums(2)


def test_sums_of_processes_are_added_and_outlive_them(sums):
    for number, key, amount in [(0, 'a', 1), (1, 'a', 10), (1, 'b', 100)]:
        status = in_child(lambda number=number, key=key, amount=amount: add(
            sums, number, (key,), amount))
        assert status == -signal.SIGKILL
    assert sums.all() == {('a',): [11], ('b',): [100]}


def test_a_process_continues_the_sums_of_its_number(sums):
    for _ in range(3):
        in_child(lambda: add(sums, 0, ('a',), 1))
    assert sums.all() == {('a',): [3]}


def test_a_key_may_have_several_sums(sums):
    sums.begin(0)
    first, second = sums.place(('a', 'x'), 2), sums.place(('b',), 1)
    sums.mine[first + 1] += 5
    sums.mine[second] += 7
    assert sums.place(('a', 'x'), 2) == first
    assert sums.all() == {('a', 'x'): [0, 5], ('b',): [7]}


@pytest.mark.parametrize('key', [('a', 'x\ny'), ('a', 'é" \u2028'), ('', '')])
def test_a_key_may_have_any_text(sums, key):
    in_child(lambda: add(sums, 0, key, 1))
    assert sums.all() == {key: [1]}


def test_keys_without_room_are_not_counted(sums, monkeypatch):
    monkeypatch.setattr(shared_sums, '_SUMS', 2)
    sums.begin(0)
    assert [sums.place((name,)) for name in 'abccab'] == [
        0, 1, None, None, 0, 1]
    assert sums.all() == {('a',): [0], ('b',): [0]}
    assert sums.is_full


def test_a_process_that_writes_a_key_blocks_no_other(sums):
    """It may be stopped meanwhile; the key is counted the next time."""
    sums.begin(0)
    known = sums.place(('known',))
    with stopped_in(sums._region.locked):
        assert sums.place(('new',)) is None
        assert sums.place(('known',)) == known
    assert sums.place(('new',)) is not None
