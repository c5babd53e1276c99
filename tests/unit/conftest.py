"""Databases with a cloud, for tests of what reads and decides on them."""

import pytest
import sqlalchemy as sa

from nova_sched import remote
from nova_sched.compat.nova import reach
from nova_sched.db import engine
from nova_sched.inventory import decision_lock
from tests.builders import cloud_database
from tests.builders import http_placement
from tests.builders.mapped_cloud import MappedCloud


@pytest.fixture(scope='session')
def tables_file(tmp_path_factory):
    """A database file with empty tables, to be copied."""
    return cloud_database.make_tables(tmp_path_factory.mktemp('tables'))


@pytest.fixture(autouse=True)
def no_probes_are_left():
    """A database that a test left unanswered is not probed in later ones.

    With a MonkeyPatch of its own, for that of the test is to be undone before
    what the test made is stopped.
    """
    made, make = [], remote.Guard.__init__

    def noted(self, *args, **kwargs):
        make(self, *args, **kwargs)
        made.append(self)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote.Guard, '__init__', noted)
        yield
    for each in made:
        each.close()


@pytest.fixture(autouse=True)
def one_slice():
    """However slow a machine is, requests are decided in one slice.

    With a MonkeyPatch of its own, as above.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision_lock, 'SLICE', 600)
        yield


@pytest.fixture(autouse=True)
def unlimited_plug_ins():
    """A dry run limits plug-ins of its process for good."""
    yield
    reach.limit(None)


@pytest.fixture
def cloud(tables_file, tmp_path):
    """An empty CloudDatabase of this test alone."""
    made = cloud_database.CloudDatabase(tables_file, tmp_path)
    yield made
    made.close()


@pytest.fixture
def server():
    """A Placement of this test alone, which answers what the test says."""
    with http_placement.placement() as server:
        yield server


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
