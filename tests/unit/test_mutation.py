"""How mutations of the code are chosen, and the tests that judge them."""

import collections
import pathlib

import pytest

from tools.mutation import choice

PLACES = [(module, place, ['one', 'other'])
          for module, size in (('a.py', 100), ('b.py', 50), ('c.py', 1))
          for place in range(size)]
#: Line of a file -> contexts that ran it: 1 on import, 9 never.
CONTEXTS = {1: [''], 5: ['', 'tests/t.py::test_a[x]|run'],
            6: ['tests/t.py::test_a[y]|setup', 'tests/t.py::T::test_b|run']}


def modules(chosen):
    return collections.Counter(module for module, _, _ in chosen)


def sample(count, seed=1, places=PLACES):
    """The chosen (module, place, change)."""
    return choice.sample(
        [(module, place, [(module, place, change) for change in changes])
         for module, place, changes in places], count, seed)


def test_every_module_has_a_share_in_proportion():
    """At least one place, and one change for each place."""
    chosen = sample(33)

    assert modules(chosen) == {'a.py': 21, 'b.py': 11, 'c.py': 1}
    assert len({place[:2] for place in chosen}) == len(chosen)
    assert modules(sample(1)) == {'a.py': 1, 'b.py': 1, 'c.py': 1}
    assert len(sample(10 ** 6)) == len(PLACES)


def test_a_seed_determines_the_sample():
    assert sample(30, seed=4) == sample(30, seed=4) != sample(30, seed=5)


@pytest.mark.parametrize('lines, tests', [
    ([5], ['tests/t.py::test_a']),
    ([6], ['tests/t.py::T::test_b', 'tests/t.py::test_a']),
    ([5, 6, 9], ['tests/t.py::T::test_b', 'tests/t.py::test_a']),
    ([1], ['tests/t.py::T::test_b', 'tests/t.py::test_a']), ([9], None)])
def test_a_change_is_judged_by_the_tests_that_run_its_lines(lines, tests):
    """With all cases; all tests of the file for a line run on import."""
    assert choice.judges(CONTEXTS, lines) == tests


@pytest.mark.parametrize('lines, others', [([1], ['tests/t']), ([5], [])])
def test_a_line_run_on_import_is_judged_by_its_directory(lines, others):
    judges = choice.judges(CONTEXTS, lines)
    assert choice.judges(CONTEXTS, lines, ['tests/t']) == judges + others


def test_all_tests_judge_a_file_that_is_only_imported():
    assert choice.judges({1: ['']}, [1], ['tests/t']) == []


def test_tests_with_the_name_of_the_module_come_first():
    tests = ['tests/properties/test_x.py::t', 'tests/unit/db/test_a.py::t',
             'tests/unit/rpc/test_a.py::t', 'tests/unit/rpc/test_b.py::t']

    assert choice.nearest_first(tests, 'nova_sched/rpc/b.py') == [
        'tests/unit/rpc/test_b.py::t', 'tests/unit/rpc/test_a.py::t',
        'tests/unit/db/test_a.py::t', 'tests/properties/test_x.py::t']


def test_a_change_is_identified_by_the_lines_before_and_after():
    diff = ('--- mutation diff ---\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n'
            ' if True:\n-    a = 1\n+    a = 2\n')

    assert choice.change(diff) == ('a = 1', 'a = 2')


def test_equivalent_changes_have_a_reason():
    known = choice.equivalents(
        pathlib.Path(choice.__file__).with_name('equivalents.toml'))

    for (module, before, after), why in known.items():
        assert before != after
        assert module.startswith('nova_sched/')
        assert why.endswith('.')
