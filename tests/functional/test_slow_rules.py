"""Requests with expensive rules do not hold up other requests."""

import concurrent.futures

import pytest

from nova_sched import exception
from tests.builders import clouds
from tests.builders import numa
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_request
from tests.functional.processes import PATIENCE
from tests.functional.processes import SOON

pytestmark = pytest.mark.real

CELLS, HARD = 32, 64


def a_hard_request():
    """A request for two kinds of devices that no cells have together."""
    return a_request(
        numa_topology=numa.a_guest(*(
            numa.guest_cell(number, pinned=1)
            for number in range(CELLS // 2))),
        pci_requests=pci_requests(*(
            a_pci_request(9, {'product_id': product}, numa_policy='required')
            for product in 'ab')))


def a_big_host(name, memory):
    """A host of CELLS cells; memory differs between hosts."""
    return clouds.a_compute_node(
        name,
        numa_topology=numa.cells_text(*(
            numa.a_cell(number, cpus=range(8 * number, 8 * number + 8),
                        memory=memory) for number in range(CELLS))),
        pci_stats=pci_stats(*(
            a_pool(numa_node=number, product_id='ab'[number % 2])
            for number in range(CELLS))))


def test_call_is_answered_beside_many_expensive_requests(stage):
    hosts = [f'big{number}' for number in range(10)]
    cloud = clouds.a_cloud(hosts)
    cloud['compute_nodes'] = [a_big_host(name, 4096 + number)
                              for number, name in enumerate(hosts)]
    stage.load(cloud)
    daemon = stage.daemon(
        DEFAULT__service_down_time=86400,
        filter_scheduler__enabled_filters='ComputeFilter,NUMATopologyFilter')
    caller = stage.client()
    pool = concurrent.futures.ThreadPoolExecutor(HARD)
    hard = [pool.submit(caller.place, a_hard_request()) for _ in range(HARD)]

    assert caller.pick() in hosts
    for refused in hard:
        with pytest.raises(exception.NoValidHost):
            refused.result(PATIENCE)
    assert daemon.lines('Gave up the search for host NUMA cells')
    assert daemon.stop(SOON)[0] == 0
