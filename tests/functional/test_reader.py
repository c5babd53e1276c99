"""Reading hosts from real servers; MariaDB sends only changed rows."""

import datetime
import time

import pytest
import sqlalchemy as sa

from nova_sched import conf as config
from nova_sched.cloud import fake as fake_cloud
from nova_sched.db import changed_rows
from nova_sched.db import engine as db_engine
from nova_sched.db import reader
from nova_sched.db import schema
from nova_sched.db import tables
from nova_sched.db.changed_rows import KnownRows
from tests.builders import interleavings
from tests.builders.cloud_database import cell_rows
from tests.functional import conftest

pytestmark = pytest.mark.real

HOSTS = 5

#: For features of MariaDB only.
on_mariadb = pytest.mark.parametrize('conf', [conftest.MARIADB],
                                     indirect=True)


@pytest.fixture(scope='module', params=conftest.DATABASES)
def conf(request):
    url, drop = conftest.new_database(request.param)
    conf = config.new_conf([], [])
    conf.set_override('connection', url, 'database')
    schema.sync(conf)
    fake_cloud.FakeCloud(db_engine.database(conf).engine, HOSTS).create()
    yield conf
    drop()


@pytest.fixture(scope='module')
def database(conf):
    database = db_engine.database(conf)
    yield database
    database.close()


@pytest.fixture
def hosts(conf, monkeypatch):
    """A reader that has read everything once, and then compares all rows."""
    monkeypatch.setattr(changed_rows, 'SPAN', -1)
    hosts = reader.HostReader(conf)
    hosts.known = KnownRows(), KnownRows()
    seen(hosts)
    yield hosts
    hosts.close()


def seen(hosts):
    """Read the changes; return all known nodes and services."""
    def read(cell):
        with cell.db.reading() as connection:
            return cell.changes(connection, *hosts.known, time.time())

    [found] = hosts.for_each_cell(read).values()
    for rows, each in zip(hosts.known, found, strict=True):
        rows.take(each)
    nodes, services = map(interleavings.known, hosts.known)
    return nodes, [row[:-1] for row in services]


@pytest.fixture
def sent(hosts, monkeypatch):
    """Texts of the reader's statements from now on: list that grows."""
    texts = []
    [engine] = hosts.for_each_cell(lambda cell: cell.db.engine).values()
    sa.event.listen(engine, 'before_cursor_execute',
                    lambda *args: texts.append(args[2]))
    return texts


def change(database, table, where, **values):
    with database.writing() as connection:
        done = connection.execute(
            table.update().where(table.c.id == where).values(**values))
        assert done.rowcount == 1


def read_all(conf):
    fresh = reader.HostReader(conf)
    try:
        [rows] = cell_rows(fresh)
        return rows.compute_nodes, rows.services
    finally:
        fresh.close()


def another(column, value):
    """A slightly different value of the column's type."""
    if isinstance(column.type, sa.DateTime):
        return (value or datetime.datetime(2026, 1, 1)
                ) + datetime.timedelta(seconds=1)
    if isinstance(column.type, sa.Boolean):
        return not value
    if isinstance(column.type, sa.Float):
        return (value or 1.0) + 0.25
    if isinstance(column.type, sa.Integer):
        return (value or 0) + 1
    return (value or '')[:-1] + '~'


def columns():
    for table, names in ((tables.compute_nodes, reader.COMPUTE_NODE_COLUMNS),
                         (tables.services, reader.SERVICE_COLUMNS)):
        for name in names:
            if name != 'id':
                yield pytest.param(table.c[name], id=f'{table.name}.{name}')


@pytest.mark.parametrize('column', list(columns()))
def test_change_of_any_column_is_seen(conf, database, hosts, column):
    table = column.table
    with database.reading() as connection:
        old = connection.execute(
            sa.select(column).where(table.c.id == 2)).scalar()
    for value in (another(column, old), *([None] * column.nullable), old):
        change(database, table, 2, **{column.name: value})
        assert seen(hosts) == read_all(conf)


@pytest.mark.parametrize('before, after', [
    ((None, ''), ('', None)), (('', 'x'), ('x', '')),
    (('~', ','), (',', '~')), ((None, '~'), ('~', None)),
    (('a,b', 'c'), ('a', 'b,c')), (('\u00e9', 'e'), ('e', '\u00e9'))])
def test_digest_distinguishes_texts_of_neighbouring_columns(
        conf, database, hosts, before, after):
    for pair in before, after:
        change(database, tables.compute_nodes, 1,
               stats=pair[0], numa_topology=pair[1])
        assert seen(hosts) == read_all(conf)


@on_mariadb
def test_only_changed_rows_are_sent(
        database, hosts, sent):
    before, _ = seen(hosts)
    assert not [text for text in sent if 'IN (' in text]
    change(database, tables.compute_nodes, 3, vcpus_used=7)
    after, _ = seen(hosts)
    same = [new is old for new, old in zip(after, before, strict=True)]
    assert same == [True, True, False, True, True]
    assert ['IN (3)' in text for text in sent if 'IN (' in text] == [True]


def test_image_properties_are_found_by_name_and_by_prefix(
        database, hosts):
    with database.writing() as connection:
        connection.execute(tables.instances.insert(), [
            {'id': 9001, 'uuid': 'u1', 'host': 'h1', 'deleted': 0}])
        connection.execute(tables.instance_system_metadata.insert(), [
            {'instance_uuid': 'u1', 'key': key, 'value': key, 'deleted': 0}
            for key in ('image_os_type', 'image_osXtype', 'image_trait:A',
                        'os_type')])

    assert hosts.image_properties(['h1'], ['os_type', 'trait:*']) == [
        ('h1', 'u1', 'os_type', 'image_os_type'),
        ('h1', 'u1', 'trait:A', 'image_trait:A')]
    assert hosts.image_properties(['h1'], ['os_t*']) == [
        ('h1', 'u1', 'os_type', 'image_os_type')]


def set_zero_date(database, column, where):
    """Store a zero date, which some servers' sql_mode allows."""
    with database.writing() as connection:
        mode = connection.exec_driver_sql('SELECT @@sql_mode').scalar()
        connection.exec_driver_sql("SET SESSION sql_mode = ''")
        done = connection.exec_driver_sql(
            f"UPDATE {column.table.name} SET {column.name} = "
            f"'0000-00-00 00:00:00' WHERE {where}")
        connection.exec_driver_sql(f"SET SESSION sql_mode = '{mode}'")
        assert done.rowcount


@on_mariadb
@pytest.mark.parametrize('column, rows, names', [
    (tables.services.c.last_seen_up, 1, reader.SERVICE_COLUMNS),
    (tables.compute_nodes.c.updated_at, 0, reader.COMPUTE_NODE_COLUMNS)])
def test_zero_date_reads_as_none_and_harms_no_other_row(
        database, hosts, column, rows, names):
    moment = datetime.datetime(2026, 1, 1)
    change(database, column.table, 1, **{column.name: moment})
    set_zero_date(database, column, 'id = 2')

    times = [row[names.index(column.name)] for row in seen(hosts)[rows]]
    assert times[:2] == [moment, None]


@on_mariadb
def test_stamp_of_zero_dates_can_be_read(database, hosts):
    for name in ('created_at', 'updated_at'):
        set_zero_date(database, tables.aggregates.c[name], 'TRUE')

    (_, count, _, *times), *_ = hosts.api_stamp()

    assert count > 0
    assert times == [None, None]
