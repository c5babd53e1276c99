"""Reads of what has changed know what a read of everything says.

NOVA_SCHED_TEST_INTERLEAVINGS: how many courses of writes, in place of 300.
"""

import os

import pytest

from tests.builders import interleavings
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables

COUNT = int(os.environ.get('NOVA_SCHED_TEST_INTERLEAVINGS', 300))


@pytest.fixture
def cell(tmp_path):
    """A CellReader of a database of as many hosts."""
    cloud = CloudDatabase(make_tables(tmp_path), tmp_path)
    cloud.load(interleavings.HOSTS)
    cell, hosts = interleavings.cell_of(cloud.conf(
        DEFAULT__service_down_time=interleavings.DOWN))
    yield cell
    hosts.close()
    cloud.close()


def test_nothing_is_missed(cell, monkeypatch):
    """Whoever's clock is wrong, whatever is committed late."""
    interleavings.run(cell, monkeypatch, COUNT)
