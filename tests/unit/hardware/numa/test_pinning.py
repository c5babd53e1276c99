"""Pinning: the worked examples of the specification."""

import pytest

from nova_sched.hardware.numa import pinning as numa_pinning
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import tried

USED = a_cell(siblings=FOUR_CORES, pinned_cpus={0, 4, 1})
SPLIT = a_cell(siblings=FOUR_CORES, pinned_cpus={0, 4, 1}, cpuset={3, 7},
               pcpuset={0, 1, 2, 4, 5, 6})
IDLE = a_cell(siblings=FOUR_CORES)
NO_THREADS = a_cell(cpus=range(4))


def pinned(host, count, policy=None, reserve=False, newer=True):
    """(host CPUs in the guest's order, reserved CPUs), or None."""
    found = numa_pinning.pin(host, tried(
        pinned=count, cpu_thread_policy=policy), reserve, newer)
    return found and ([found[0][cpu] for cpu in sorted(found[0])],
                      sorted(found[1]))


@pytest.mark.parametrize(('count', 'policy', 'cpus'), [
    (4, 'prefer', [2, 6, 3, 7]), (5, 'prefer', [5, 2, 6, 3, 7]),
    (4, None, [2, 6, 3, 7]), (5, 'require', None), (4, 'require',
                                                    [2, 6, 3, 7]),
    (2, 'isolate', [2, 3]), (3, 'isolate', None), (6, 'prefer', None)])
def test_guests_are_packed_by_their_policy(count, policy, cpus):
    assert pinned(USED, count, policy) == (cpus and (cpus, []))


@pytest.mark.parametrize(('count', 'policy', 'expected'), [
    (4, 'prefer', ([2, 6, 3, 7], [5])), (5, 'prefer', None),
    (1, 'isolate', ([2], [5])), (3, 'require', ([2, 6, 3], [5])),
    (2, 'isolate', ([2, 3], [5]))])
def test_emulator_gets_a_cpu_of_its_own(count, policy, expected):
    assert pinned(USED, count, policy, reserve=True) == expected


def test_before_train_a_whole_core_is_isolated_on_any_host():
    assert pinned(SPLIT, 1, 'isolate', newer=False) == ([2], [])


@pytest.mark.parametrize(('policy', 'reserve', 'expected'), [
    ('prefer', False, ([], [])), ('isolate', False, None),
    ('prefer', True, None), ('isolate', True, None)])
def test_cell_without_pinned_cpus_cannot_be_isolated(policy, reserve,
                                                            expected):
    """Such a cell a guest may have that mixes floating and pinned CPUs."""
    assert pinned(IDLE, 0, policy, reserve) == expected


def test_before_train_the_emulators_cpu_comes_from_the_used_cores():
    """5 is free, but its core is not wholly so."""
    assert pinned(USED, 1, 'isolate', True, newer=False) == ([2], [3])
    assert pinned(USED, 4, 'require', True, newer=False) is None
    assert pinned(USED, 4, 'prefer', True, newer=False) == ([5, 2, 6, 3], [7])


@pytest.mark.parametrize('host', [USED, SPLIT, IDLE, NO_THREADS, a_cell(
    siblings=FOUR_CORES, pinned_cpus=range(8))])
@pytest.mark.parametrize('policy', [None, 'prefer', 'isolate', 'require'])
@pytest.mark.parametrize('reserve', [False, True])
@pytest.mark.parametrize('newer', [False, True])
def test_may_pin_agrees_with_pin(host, policy, reserve, newer):
    for pinned_cpus in range(10):
        for floating in (0, 2):
            guest = tried(pinned=pinned_cpus, floating=floating,
                          cpu_thread_policy=policy)
            args = host, guest, reserve, newer

            assert (numa_pinning.may_pin(*args) is None) == (
                numa_pinning.pin(*args) is None)
