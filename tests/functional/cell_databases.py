"""An API database and databases of cells, on a real server."""

import contextlib

import sqlalchemy as sa

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders import clouds
from tests.functional import conftest

CELL1 = '00000000-0000-0000-0000-0000000000c1'
CELL2 = '00000000-0000-0000-0000-0000000000c2'


@contextlib.contextmanager
def new(count):
    """Yield the URLs of new databases, which are dropped at the end."""
    with contextlib.ExitStack() as stack:
        found = [conftest.new_database() for _ in range(count)]
        for _, drop in found:
            stack.callback(drop)
        yield [url for url, _ in found]


def fill(url, hosts=(), cells=()):
    """Create the tables of an empty database, and its rows.

    hosts: as of clouds.a_cloud.
    cells: (uuid, name, database URL) each, for an API database.
    """
    database = engine.Database(url)
    schema.sync_database(database)
    cloud_file.load(database.engine, clouds.a_cloud(
        hosts, cells=[], host_mappings=[]), shift=True)
    with database.writing() as connection:
        for uuid, name, of_cell in cells:
            connection.execute(sa.insert(tables.cell_mappings).values(
                uuid=uuid, name=name, database_connection=of_cell,
                disabled=False))
    database.close()
