"""Clouds, Placement servers and shadows for tests."""

import pytest

from nova_sched.rpc import brokers
from tests.builders import http_placement
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_service
from tests.builders.memory_broker import MemoryBroker
from tests.unit.dry_run.shadow.stage import HOSTS
from tests.unit.dry_run.shadow.stage import Stage
from tests.unit.dry_run.shadow.stage import offer


@pytest.fixture
def hosts(cloud):
    """Function: load three hosts that are up, with decreasing memory."""
    def load(disabled=()):
        cloud.load_nodes(*(
            a_compute_node(host, uuid=uuid, free_ram_mb=9000 - 1000 * number)
            for number, (host, uuid) in enumerate(HOSTS.items())), services=[
                a_service(host, disabled=host in disabled) for host in HOSTS])
        return cloud
    return load


@pytest.fixture
def server():
    """A Placement with all three hosts as candidates."""
    with http_placement.placement() as server:
        offer(server, 'abc')
        yield server


@pytest.fixture
def stage(hosts, server, tmp_path):
    made = Stage(hosts(), server, tmp_path)
    yield made
    made.close()


@pytest.fixture
def broker(monkeypatch):
    """A broker with the exchange of live schedulers."""
    made = MemoryBroker()
    made.declare()
    monkeypatch.setattr(brokers, 'connection', made.connection)
    return made
