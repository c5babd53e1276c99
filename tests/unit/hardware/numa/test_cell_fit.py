"""One guest cell on one host cell."""

import pytest

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import guest as numa_guest
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import tried

LIMITS = numa_guest.Limits(4.0, 1.0)
BUSY = a_cell(7, cpus=range(4), memory_usage=1024, cpu_usage=14)


def places(host, limits=LIMITS, reserve=False, rule=cell_fit.place, **guest):
    return rule(host, tried(**guest), limits, reserve) is None


@pytest.mark.parametrize(('cpus', 'memory', 'fits'), [
    (2, 1024, True), (3, 1024, False), (2, 3072, True), (2, 3073, False),
    (1, 4097, False)])
def test_floating_guests_obey_the_overcommit_limits(cpus, memory, fits):
    assert places(BUSY, floating=cpus, memory=memory) == fits


def test_refusal_has_the_rule_and_its_figures():
    refusal = cell_fit.place(BUSY, tried(floating=3, memory=1024), LIMITS,
                             False)

    assert refusal.figures == ('CPUs', 'are', 'CPUs', 17, 16.0)
    assert str(refusal) == (
        'Host cell has limitations on usable CPUs. There are not enough free '
        'CPUs to schedule this instance. Usage: 17, limit: 16')


def test_without_limits_overcommit_is_unlimited():
    assert places(BUSY, None, floating=3, memory=4096)


@pytest.mark.parametrize('guest', [{'floating': 5}, {'pinned': 5}])
def test_guest_cell_never_overcommits_itself(guest):
    assert not places(a_cell(cpus=range(4)), None, **guest)


def test_mixed_guest_needs_both_kinds_of_cpus():
    host = a_cell(cpuset={3, 7}, pcpuset={0, 1, 2, 4, 5, 6},
                  siblings=FOUR_CORES, pinned_cpus={0, 4, 1})

    assert places(host, floating=2, pinned=2)
    assert not places(host, floating=3, pinned=2)
    assert not places(host, floating=2, pinned=4)


def test_emulators_cpu_counts():
    assert places(a_cell(cpus=range(4)), pinned=4)
    assert not places(a_cell(cpus=range(4)), reserve=True, pinned=4)


def test_placed_cell_gets_the_id_of_its_host_cell():
    guest = tried(floating=1)

    assert cell_fit.place(BUSY, guest, LIMITS, False) is None
    assert guest.id == 7


def test_selected_page_size_stays_if_the_cell_does_not_fit():
    guest = tried(floating=9, pagesize=-3)

    assert cell_fit.place(a_cell(pages=[(2048, 512)]), guest, LIMITS, False)
    assert (guest.pagesize, guest.id) == (2048, 0)


class TestBeforeTrain:
    @staticmethod
    def places(host, **guest):
        return places(host, rule=cell_fit.place_queens, **guest)

    def test_pages_are_ignored_unless_requested(self):
        host = a_cell(pages=[(4, 10)])

        assert self.places(host, pinned=1)
        assert not self.places(host, pinned=1, pagesize=-3)

    def test_pinned_guests_need_free_memory(self):
        assert self.places(BUSY, pinned=1, memory=3072)
        assert not self.places(BUSY, pinned=1, memory=3073)

    def test_floating_guests_obey_the_overcommit_limits(self):
        assert self.places(BUSY, floating=2)
        assert not self.places(BUSY, floating=3)

    def test_guest_larger_than_the_host_cell_is_refused(self):
        assert not self.places(BUSY, floating=5, limits=None)
        assert not self.places(BUSY, floating=1, memory=4097, limits=None)
        assert not self.places(a_cell(cpus=range(4)), pinned=4, reserve=True)


@pytest.mark.parametrize(('memory', 'pagesize', 'fits'), [
    (4, None, True), (3, None, False), (1026, None, False), (4, 2048, True),
    (3, 2048, False), (4, 4, False), (4, -3, True), (3, -3, False)])
def test_memory_must_be_in_pages_of_the_host_cell(memory, pagesize, fits):
    """With and without a requested size."""
    host = a_cell(pages=[(2048, 512)])

    assert places(host, floating=1, memory=memory, pagesize=pagesize) == fits
