"""Reads of what has changed know what a read of everything says.

NOVA_SCHED_TEST_INTERLEAVINGS: how many courses of writes.
"""

import os

import pytest

from nova_sched.db import cell_reader
from nova_sched.db import changed_rows
from nova_sched.db import reader
from tests.builders import interleavings
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables

COUNT = int(os.environ.get('NOVA_SCHED_TEST_INTERLEAVINGS', 300))
STEPS = 12


@pytest.fixture
def cell(tmp_path):
    """A CellReader of a database of as many hosts."""
    cloud = CloudDatabase(make_tables(tmp_path), tmp_path)
    cloud.load(interleavings.HOSTS)
    hosts = reader.HostReader(cloud.conf(
        DEFAULT__service_down_time=interleavings.DOWN))
    hosts.skip_heartbeats()
    found = []
    hosts.for_each_cell(found.append)
    yield found[0]
    hosts.close()
    cloud.close()


def test_nothing_is_missed(cell, monkeypatch):
    """Whoever's clock is wrong, whatever is committed late."""
    for seed in range(COUNT):
        clock = interleavings.Clock()
        monkeypatch.setattr(changed_rows, 'time', clock)
        try:
            interleavings.Interleaving(cell, clock, seed).run(STEPS)
        except AssertionError as error:
            raise AssertionError(f'seed {seed}') from error
    assert isinstance(cell, cell_reader.CellReader)
