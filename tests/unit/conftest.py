"""Databases with a cloud, for tests of what reads and decides on them."""

import pytest
import sqlalchemy as sa

from nova_sched.db import engine
from tests.builders import cloud_database
from tests.builders.mapped_cloud import MappedCloud


@pytest.fixture(scope='session')
def tables_file(tmp_path_factory):
    """A database file with empty tables, to be copied."""
    return cloud_database.make_tables(tmp_path_factory.mktemp('tables'))


@pytest.fixture
def cloud(tables_file, tmp_path):
    """An empty CloudDatabase of this test alone."""
    made = cloud_database.CloudDatabase(tables_file, tmp_path)
    yield made
    made.close()


@pytest.fixture
def mapped_cloud(tables_file, tmp_path):
    """A MappedCloud with the hosts a and b in one cell, and c in another."""
    made = MappedCloud(tables_file, tmp_path)
    made.one.load(['a', 'b'], host_mappings=[])
    made.two.load(['c'], host_mappings=[])
    yield made
    made.close()


@pytest.fixture
def opened(monkeypatch):
    """Function: how many engines were made and hold connections yet."""
    made, closed, connect = [], [], engine.connect

    def connected(*args):
        made.append(connect(*args))
        sa.event.listen(made[-1], 'engine_disposed', closed.append)
        return made[-1]
    monkeypatch.setattr(engine, 'connect', connected)
    return lambda: len(made) - len({*map(id, closed)})
