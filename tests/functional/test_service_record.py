"""The service record of nova-sched, and host discovery."""

import concurrent.futures

import pytest
import sqlalchemy as sa

from nova_sched import conf as config
from nova_sched.cloud import fake as fake_cloud
from nova_sched.db import engine as db_engine
from nova_sched.db import schema
from nova_sched.db import services
from nova_sched.db import tables
from tests.functional import conftest
from tests.functional import processes

pytestmark = pytest.mark.real

CELL = '00000000-0000-0000-0000-0000000000c7'


def rows(stage):
    """The rows of schedulers: list of dicts."""
    c = tables.services.c
    with stage.engine().connect() as connection:
        return [dict(row) for row in connection.execute(
            sa.select(tables.services).where(
                c.binary == 'nova-scheduler').order_by(c.id)).mappings()]


def beats(stage):
    """The number of heartbeats in the single row."""
    row, = rows(stage)
    return row['report_count']


def test_daemon_has_one_record_with_heartbeats(stage):
    """It exists before the first request and stays after the stop."""
    stage.cloud(2)
    daemon = stage.daemon(workers=3, DEFAULT__report_interval=1)
    made, = rows(stage)
    assert made['host'] == stage.conf.host
    assert (made['topic'], made['version'], made['disabled']) == (
        'scheduler', 74, False)
    first, second = processes.until(
        lambda: (beats(stage) > 3 and rows(stage) * 2), 'heartbeats')
    assert first['last_seen_up'] == second['updated_at']
    status, seconds = daemon.stop()
    assert status == 0
    assert seconds < processes.SOON
    left, = rows(stage)
    assert left['id'] == made['id']
    assert left['report_count'] >= first['report_count']
    assert not left['deleted']
    assert not daemon.lines('Traceback')


@pytest.fixture(params=['real', conftest.POSTGRESQL])
def real_stage(request, tmp_path):
    """A Stage on a real RabbitMQ, and MariaDB or PostgreSQL."""
    with conftest.open_stage(tmp_path, request.param) as stage:
        yield stage


def test_failing_heartbeats_are_logged_once_and_requests_answered(real_stage):
    """The table of services is renamed for a while."""
    stage = real_stage
    stage.cloud(4, live=False)
    daemon = stage.daemon(scheduler__driver='caching_scheduler',
                          DEFAULT__report_interval=1)
    processes.until(lambda: beats(stage), 'a heartbeat')
    with stage.engine().begin() as connection:
        connection.exec_driver_sql('ALTER TABLE services RENAME TO away')
    line, = daemon.wait_for_lines('is up fails')
    assert 'services' in line
    assert 'WARNING' in line
    assert stage.client().ask()
    with stage.engine().begin() as connection:
        connection.exec_driver_sql('ALTER TABLE away RENAME TO services')
    daemon.wait_for_lines('is up works again')
    before = beats(stage)
    processes.until(lambda: beats(stage) > before, 'heartbeats again')
    assert len(daemon.lines('is up fails')) == 1
    status, _seconds = daemon.stop()
    assert status == 0


def test_locked_record_delays_neither_requests_nor_the_stop(real_stage):
    """Only the heartbeat waits for the lock."""
    stage = real_stage
    stage.cloud(4, live=False)
    daemon = stage.daemon(DEFAULT__report_interval=1)
    processes.until(lambda: beats(stage), 'a heartbeat')
    with stage.engine().begin() as connection:
        connection.execute(sa.select(tables.services).with_for_update())
        seen = beats(stage)
        # InnoDB caches its answer for 0.1 s after each query.
        processes.until(lambda: _waiting(stage), 'a heartbeat that waits',
                        interval=0.3)
        assert stage.client().ask()
        assert beats(stage) == seen
        status, seconds = daemon.stop()
    assert status == 0
    assert seconds < processes.SOON


#: Dialect -> a query for the number of transactions that wait for a lock.
_WAITING = {
    'mysql': "SELECT COUNT(*) FROM information_schema.innodb_trx "
             "WHERE trx_state = 'LOCK WAIT'",
    'postgresql': "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = "
                  "current_database() AND wait_event_type = 'Lock'"}


def _waiting(stage):
    """Whether a transaction waits for a lock."""
    with stage.engine().connect() as connection:
        return connection.exec_driver_sql(
            _WAITING[connection.dialect.name]).scalar()


@pytest.fixture(params=conftest.DATABASES)
def database(request):
    url, drop = conftest.new_database(request.param)
    conf = config.new_conf([], [])
    conf.set_override('connection', url, 'database')
    schema.sync(conf)
    yield url
    drop()


def test_race_of_registrations_creates_one_record(database):
    databases = [db_engine.Database(database) for _ in range(12)]
    records = [services.ServiceRecord(db, 'here') for db in databases]
    assert not any(record.heartbeat() for record in records)

    with concurrent.futures.ThreadPoolExecutor(len(records)) as pool:
        for done in [pool.submit(record.register) for record in records]:
            done.result()

    assert all(record.heartbeat() for record in records)
    with databases[0].reading() as connection:
        assert connection.execute(sa.select(
            tables.services.c.report_count)).all() == [(len(records),)]
    for db in databases:
        db.close()


@pytest.fixture
def cell(database):
    """URL of the database of a cell with two unmapped hosts."""
    db = db_engine.Database(database)
    fake_cloud.FakeCloud(db.engine, 2).create()
    with db.writing() as connection:
        connection.execute(tables.compute_nodes.update().values(mapped=0))
    db.close()
    return database


def test_one_daemon_maps_new_hosts_of_a_cell(stage, cell):
    """It logs one line; other daemons log nothing."""
    stage.sync()
    with stage.engine().begin() as connection:
        connection.execute(tables.cell_mappings.insert().values(
            uuid=CELL, name='one', database_connection=cell))
    options = {'workers': 2, 'api_database__connection': stage.database_url,
               'scheduler__discover_hosts_in_cells_interval': 1}
    daemons = [stage.daemon(name=name, DEFAULT__host=name, **options)
               for name in ('a', 'b')]
    daemons[0].wait_for_lines('Discovered 2 new hosts: one:')
    db = db_engine.Database(cell)
    with db.writing() as connection:
        connection.execute(tables.compute_nodes.update().where(
            tables.compute_nodes.c.id == 1).values(
                host='new', mapped=0))
    db.close()
    line, = daemons[0].wait_for_lines('Discovered 1 new hosts: one:new')
    assert 'INFO' in line
    for daemon in daemons:
        daemon.stop()
        assert not daemon.lines('nova-manage')
        assert not daemon.lines('Traceback')
    assert not daemons[1].lines('Discovered')
