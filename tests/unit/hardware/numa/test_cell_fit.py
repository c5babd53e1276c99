"""Boundaries of the fit of one guest cell on one host cell."""

import pytest

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa import pages as numa_pages
from tests.builders.numa import a_cell
from tests.builders.numa import tried

BUSY = a_cell(cpus=range(4), memory_usage=1024, cpu_usage=14)
PAGED = a_cell(pages=[(4, 524288, 300000), (2048, 512, 100)])


@pytest.mark.parametrize('place', [cell_fit.place, cell_fit.place_queens])
@pytest.mark.parametrize(('cpus', 'memory', 'fits'), [
    (2, 3072, True), (3, 1024, False), (2, 3073, False)])
def test_floating_guest_may_reach_the_overcommit_limits(place, cpus, memory,
                                                        fits):
    guest = tried(floating=cpus, memory=memory)

    assert (place(BUSY, guest, numa_guest.Limits(4.0, 1.0), False)
            is None) == fits


@pytest.mark.parametrize(('memory', 'pinned', 'fits'), [
    (2048, 0, True), (2049, 0, False), (876, 2, True), (877, 2, False)])
def test_pages_of_default_size_may_be_used_up(memory, pinned, fits):
    guest = tried(memory=memory, pinned=pinned, floating=0 if pinned else 1)

    assert numa_pages.fits_plainly(PAGED, guest) == fits


@pytest.mark.parametrize(('memory', 'size'), [(824, 2048), (826, None)])
def test_pages_of_requested_size_may_be_used_up(memory, size):
    assert numa_pages.choose(
        PAGED, tried(memory=memory, pagesize=2048)) == size
