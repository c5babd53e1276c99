"""Incremental reads have the same rows as a full read.

NOVA_SCHED_TEST_INTERLEAVINGS: number of courses of writes, in place of 300.
"""

import os

import pytest

from tests.builders import interleavings
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables

COUNT = int(os.environ.get('NOVA_SCHED_TEST_INTERLEAVINGS', 300))


@pytest.fixture
def cell(tmp_path):
    """A CellReader of a database with interleavings.HOSTS hosts."""
    cloud = CloudDatabase(make_tables(tmp_path), tmp_path)
    cloud.load(interleavings.HOSTS)
    cell, hosts = interleavings.cell_of(cloud.conf(
        DEFAULT__service_down_time=interleavings.DOWN))
    yield cell
    hosts.close()
    cloud.close()


def test_no_change_is_missed(cell, monkeypatch):
    """With wrong clocks and late commits."""
    interleavings.run(cell, monkeypatch, COUNT)
