"""Memory pages: the worked examples of the specification."""

import pytest

from nova_sched.hardware.numa import pages as numa_pages
from nova_sched.hardware.numa.pages import ANY
from nova_sched.hardware.numa.pages import LARGE
from nova_sched.hardware.numa.pages import SMALL
from tests.builders.numa import a_cell
from tests.builders.numa import tried

GIB = 1048576
HOST = a_cell(pages=[(4, 524288, 300000), (2048, 512, 100), (GIB, 1)])


@pytest.mark.parametrize(('memory', 'required', 'size'), [
    (1024, SMALL, None), (1024, LARGE, GIB), (1024, ANY, GIB),
    (1024, 2048, None), (512, SMALL, 4), (512, LARGE, 2048),
    (512, ANY, 2048), (823, ANY, 4), (512, 8192, None)])
def test_largest_allowed_size_with_room_is_chosen(memory, required, size):
    assert numa_pages.choose(HOST, tried(memory=memory,
                                         pagesize=required)) == size


@pytest.mark.parametrize(('memory', 'pinned', 'fits'), [
    (1024, 0, True), (1024, 2, False), (876, 2, True), (2048, 0, True),
    (2049, 0, False)])
def test_pinned_guests_need_free_small_pages(memory, pinned, fits):
    guest = tried(memory=memory, pinned=pinned, floating=0 if pinned else 1)

    assert numa_pages.fits_plainly(HOST, guest) == fits


def test_memory_must_be_a_multiple_of_the_smallest_pages():
    host = a_cell(pages=[(2048, 512)])

    assert not numa_pages.fits_plainly(host, tried(memory=3))
    assert numa_pages.fits_plainly(host, tried(memory=4))


@pytest.mark.parametrize(('memory', 'pinned', 'fits'), [
    (1024, 1, True), (1025, 1, False), (4096, 0, True), (4097, 0, False)])
def test_pinned_guests_need_free_memory_without_pages(memory, pinned, fits):
    host = a_cell(memory_usage=3072)

    assert numa_pages.fits_plainly(host, tried(
        memory=memory, pinned=pinned)) == fits


def test_reserved_pages_are_not_free():
    host = a_cell(pages=[(2048, 512, 0, 511)])

    assert numa_pages.choose(host, tried(memory=2, pagesize=2048)) == 2048
    assert numa_pages.choose(host, tried(memory=4, pagesize=2048)) is None


def test_most_memory_is_in_pages_of_one_size():
    assert numa_pages.most_free(HOST, LARGE) == 1024
    assert numa_pages.most_free(HOST, 2048) == 824
    assert numa_pages.most_free(HOST, 8192) == 0
