"""CrossCellWeigher: who may change cells had better not."""

import pytest

from nova_sched.scheduler.weights.cross_cell import CrossCellWeigher
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import weights

WEIGHER = configured(CrossCellWeigher)


def two_cells():
    return hosts(a_host(cell_uuid=CELL1), a_host(cell_uuid=CELL2),
                 a_host(cell_uuid=CELL1))


def wanting(**destination):
    return a_request(requested_destination=a_destination(**destination))


def test_hosts_of_the_cell_win():
    spec = wanting(cell=CELL2, allow_cross_cell_move=True)

    assert WEIGHER.raw(two_cells(), spec).tolist() == [-1, 1, -1]
    assert weights(WEIGHER, two_cells(), spec) == [0.0, 1000000.0, 0.0]


def test_hosts_of_one_cell_are_alike():
    block = hosts(a_host(cell_uuid=CELL1), a_host(cell_uuid=CELL1))
    spec = wanting(cell=CELL1, allow_cross_cell_move=True)

    assert WEIGHER.raw(block, spec).tolist() == [1, 1]
    assert weights(WEIGHER, block, spec) == [0.0, 0.0]


@pytest.mark.parametrize('spec', [
    a_request(), wanting(host='host0'), wanting(allow_cross_cell_move=True),
    wanting(cell=CELL1), wanting(cell=CELL1, allow_cross_cell_move=False),
])
def test_all_are_alike_without_a_cell_or_the_freedom_to_leave_it(spec):
    assert WEIGHER.raw(two_cells(), spec).tolist() == [0, 0, 0]


def test_a_negative_multiplier_moves_instances_out_of_a_cell():
    weigher = configured(CrossCellWeigher,
                         cross_cell_move_weight_multiplier=-1.0)
    spec = wanting(cell=CELL1, allow_cross_cell_move=True)

    assert weights(weigher, two_cells(), spec) == [-1.0, 0.0, -1.0]
