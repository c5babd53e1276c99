"""Reads and writes on MariaDB and on PostgreSQL."""

import contextlib
import json

from alembic import autogenerate
from alembic import migration
import pytest
import sqlalchemy as sa

from nova_sched import conf as config
from nova_sched.cloud import export as cloud_export
from nova_sched.cloud import file as cloud_file
from nova_sched.db import cells
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders import clouds
from tests.builders.cloud_database import cell_rows
from tests.functional import conftest
from tests.functional.processes import until

pytestmark = pytest.mark.real

ONE, TWO = clouds.a_uuid(101), clouds.a_uuid(102)
INSTANCE = clouds.a_uuid(103)
#: Seconds that the API database and a cell may take.
TIMEOUT = 5


def url_of(database):
    return database.url.render_as_string(hide_password=False)


class Cloud:
    """An API database, cell0 and two cells, each an engine.Database.

    kind: of conftest.DATABASES.  conf: has the API database and cell0.
    """

    def __init__(self, kind, new):
        self.kind = kind
        self.api, self.cell0, self.one, self.two = (
            new(kind) for _ in range(4))
        for database in (self.api, self.cell0, self.one, self.two):
            schema.sync_database(database)

    def fill(self):
        """Replace all rows."""
        self.conf = config.new_conf([], [])
        for group, database in (('database', self.cell0),
                                ('api_database', self.api)):
            self.conf.set_override('connection', url_of(database), group)
        self.conf.set_override('cell_timeout', TIMEOUT, 'nova_sched')
        _load(self.cell0, [])
        _load(self.api, [], aggregates=[
            clouds.an_aggregate(1, ['a', 'c'], metadata={'ssd': 'true'}),
            clouds.an_aggregate(2, [])],
            instance_groups=[clouds.a_group(1, [INSTANCE])])
        _load(self.one, ['a', 'b'])
        _load(self.two, ['c'],
              instances=[clouds.an_instance('c', uuid=INSTANCE)])
        self.execute(self.api, sa.delete(tables.cell_mappings))
        for uuid, name, database in ((cells.CELL0_UUID, 'cell0', self.cell0),
                                     (ONE, 'one', self.one),
                                     (TWO, 'two', self.two)):
            self.execute(self.api, sa.insert(tables.cell_mappings).values(
                uuid=uuid, name=name, disabled=False,
                database_connection=url_of(database)))

    def execute(self, database, statement):
        with database.writing() as connection:
            return connection.execute(statement)


def _load(database, hosts, **lists):
    """Replace the rows of a database by hosts that are not mapped."""
    cloud_file.load(database.engine, clouds.a_cloud(
        hosts, host_mappings=[], **lists, compute_nodes=[
            clouds.a_compute_node(host, mapped=0) for host in hosts]))


@pytest.fixture(scope='module')
def new():
    """Function that creates an empty engine.Database of a kind."""
    with contextlib.ExitStack() as ends:
        def new(kind):
            url, drop = conftest.new_database(kind)
            ends.callback(drop)
            database = engine.Database(url)
            ends.callback(database.close)
            return database
        yield new


@pytest.fixture(scope='module', params=conftest.DATABASES)
def made(request, new):
    return Cloud(request.param, new)


@pytest.fixture
def cloud(made):
    made.fill()
    return made


@pytest.fixture
def empty(new, cloud):
    """One more database, without tables."""
    return new(cloud.kind)


@pytest.fixture
def hosts(cloud):
    """A HostReader of the cloud."""
    hosts = reader.HostReader(cloud.conf)
    yield hosts
    hosts.close()


def test_tables_match_their_definitions(cloud):
    with cloud.api.reading() as connection:
        context = migration.MigrationContext.configure(
            connection, opts={'version_table': schema.VERSION_TABLE})
        assert autogenerate.compare_metadata(context, tables.metadata) == []


def test_all_statements_of_a_read_see_the_same_rows(cloud):
    """PostgreSQL's default isolation level would not guarantee it."""
    seen = sa.select(tables.compute_nodes.c.host)

    with cloud.one.reading() as connection:
        before = connection.execute(seen).scalars().all()
        cloud.execute(cloud.one, sa.delete(tables.compute_nodes))
        again = connection.execute(seen).scalars().all()

    assert sorted(before) == sorted(again) == ['a', 'b']
    with cloud.one.reading() as connection:
        assert connection.execute(seen).all() == []


def test_changed_aggregates_change_the_stamp(cloud, hosts):
    one, two = hosts.aggregates()
    assert (one['hosts'], one['metadata']) == (['a', 'c'], {'ssd': 'true'})
    assert two['hosts'] == []
    before = hosts.api_stamp()

    cloud.execute(cloud.api, sa.delete(tables.aggregate_hosts).where(
        tables.aggregate_hosts.c.host == 'a'))

    assert hosts.api_stamp() != before
    assert hosts.aggregates()[0]['hosts'] == ['c']


def test_loaded_export_equals_its_cloud(cloud, empty):
    text = json.dumps(cloud_export.export(cloud.conf))
    schema.sync_database(empty)
    cloud_file.load(empty.engine, json.loads(text))

    again = config.new_conf([], [])
    again.set_override('connection', url_of(empty), 'database')
    loaded = reader.HostReader(again)
    [rows] = cell_rows(loaded)
    assert len(rows.compute_nodes) == len(rows.services) == 3
    assert loaded.host_cells() == {'a': ONE, 'b': ONE, 'c': TWO}
    assert loaded.locate_instances([INSTANCE]) == {INSTANCE: 'c'}
    loaded.close()
    # New ids follow the loaded ids.
    cloud.execute(empty, sa.insert(tables.aggregates).values(name='x'))


def test_host_that_another_process_maps_first_is_left_alone(cloud):
    """The other mapping comes between this search and its insertion."""
    search = discovery.Discovery(cloud.conf)
    looked = search._mappings

    def late(*args):
        found = looked(*args)
        cloud.execute(cloud.api, sa.insert(tables.host_mappings).values(
            host='c', cell_id=sa.select(tables.cell_mappings.c.id).where(
                tables.cell_mappings.c.uuid == ONE).scalar_subquery()))
        search._mappings = looked
        return found

    cloud.execute(cloud.one, sa.delete(tables.compute_nodes))
    search._mappings = late
    try:
        found = search.run()
    finally:
        search.close()

    assert (found.mapped, found.mapped_by_others) == ([], ['two:c'])


@pytest.mark.parametrize('made', [conftest.POSTGRESQL], indirect=True)
def test_cell_that_accepts_no_connections_is_left_out_until_it_does(
        cloud, hosts):
    """It also ends its open connections, like a stopped server."""
    name = cloud.two.url.database
    assert len(cell_rows(hosts)) == 2

    cloud.execute(cloud.one, sa.text(
        f'ALTER DATABASE {name} ALLOW_CONNECTIONS false'))
    cloud.execute(cloud.one, sa.text(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
        'WHERE datname = :name').bindparams(name=name))
    [rows] = cell_rows(hosts)
    assert rows.cell.name == 'one'
    assert len(hosts.unavailable_cells()) == 1

    cloud.execute(cloud.one, sa.text(
        f'ALTER DATABASE {name} ALLOW_CONNECTIONS true'))
    until(lambda: len(cell_rows(hosts)) == 2, 'the cell is back')
    assert hosts.unavailable_cells() == {}


#: Kind -> statement that locks a table against readers.
LOCKS = {conftest.MARIADB: 'LOCK TABLES compute_nodes WRITE',
         conftest.POSTGRESQL: 'LOCK TABLE compute_nodes'}


def test_hanging_cell_is_left_out_until_it_answers(cloud, hosts):
    assert len(cell_rows(hosts)) == 2

    with cloud.two.engine.connect() as connection:
        connection.exec_driver_sql(LOCKS[cloud.kind])
        [rows] = cell_rows(hosts)
        assert rows.cell.name == 'one'
        assert [*hosts.unavailable_cells().values()] == [
            f'no answer within {TIMEOUT} seconds']
        # The end of the connection releases the lock on both servers.
        connection.invalidate()

    until(lambda: len(cell_rows(hosts)) == 2, 'the cell is back')
    assert hosts.unavailable_cells() == {}
