"""Cells in databases of their own, one of which stops, hangs, comes back."""

import time

import oslo_messaging as messaging
import pytest
import sqlalchemy as sa

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db import tables
from nova_sched.objects import CellMapping
from nova_sched.objects import Destination
from tests.builders import clouds
from tests.functional import conftest
from tests.functional.load import Load
from tests.functional.mariadb import MariaDB
from tests.functional.processes import SOON
from tests.functional.processes import until

pytestmark = pytest.mark.real

CELL1 = '00000000-0000-0000-0000-0000000000c1'
CELL2 = '00000000-0000-0000-0000-0000000000c2'
#: Seconds that the service waits for a cell.
TIMEOUT = 5
FOREVER = 10 ** 9


@pytest.fixture
def server():
    """The MariaDB of cell two."""
    server = MariaDB('nova_cell2')
    server.start()
    yield server
    server.end()


@pytest.fixture
def serve(stage):
    """Function of (uuid, name, URL) of cells: a service on them."""
    api_url, drop = conftest.new_database()

    def serve(*cells):
        _make(api_url, [])
        stage.sync()
        with engine.Database(api_url).writing() as connection:
            connection.execute(sa.insert(tables.cell_mappings), [
                {'uuid': uuid, 'name': name, 'database_connection': url,
                 'disabled': False} for uuid, name, url in cells])
        return stage.daemon(
            api_database__connection=api_url,
            nova_sched__cell_timeout=TIMEOUT,
            nova_sched__pick_lifetime=0,    # what is asked for is never built
            DEFAULT__service_down_time=FOREVER)

    yield serve
    drop()


@pytest.fixture
def daemon(serve, server):
    """A service on cell one, hosts h0 to h2, and cell two, host h3."""
    cell1_url, drop = conftest.new_database()
    _make(cell1_url, ['h0', 'h1', 'h2'])
    _make(server.url, ['h3'])
    yield serve((CELL1, 'one', cell1_url), (CELL2, 'two', server.url))
    drop()


@pytest.fixture
def alone(serve, server):
    """A service whose only cell is cell two, host h3."""
    _make(server.url, ['h3'])
    return serve((CELL2, 'two', server.url))


def _make(url, hosts):
    database = engine.Database(url)
    schema.sync_database(database)
    cloud_file.load(database.engine, clouds.a_cloud(
        hosts, cells=[], host_mappings=[]))
    database.close()


@pytest.fixture
def load(stage, daemon):
    """Four callers that ask without a pause."""
    with Load([stage.client() for _ in range(4)]) as load:
        yield load


def a_host_of(client, uuid):
    """The host that a request for one cell gets; None if it gets none."""
    try:
        return client.pick(requested_destination=Destination(
            cell=CellMapping(uuid=uuid)))
    except Exception as error:
        assert 'NoValidHost' in repr(error), error
        return None


def test_a_cell_that_hangs_is_waited_for_once(stage, daemon, server, load):
    client = stage.client()
    assert a_host_of(client, CELL2) == 'h3'

    server.hang()
    until(lambda: a_host_of(client, CELL2) is None, 'cell two is given up')
    time.sleep(1)    # for those who waited together
    began = time.monotonic()
    time.sleep(2 * TIMEOUT)
    waits = [call.took for call in load.since(began)]

    assert len(waits) > 20
    assert max(waits) < TIMEOUT
    server.resume()
    until(lambda: a_host_of(client, CELL2) == 'h3', 'cell two is back')
    assert not [call for call in load.calls if call.error]
    assert len(daemon.said('Timeout getting computes for cell')) == 1


def test_a_cell_that_stops_costs_only_its_hosts(stage, daemon, server, load):
    client = stage.client()
    assert a_host_of(client, CELL2) == 'h3'

    server.stop()
    until(lambda: a_host_of(client, CELL2) is None, 'cell two is given up')
    assert a_host_of(client, CELL1) in {'h0', 'h1', 'h2'}

    server.start()
    until(lambda: a_host_of(client, CELL2) == 'h3', 'cell two is back')
    assert not [call for call in load.calls if call.error]
    assert len(daemon.said('Failed to get computes for cell')) >= 1


def test_a_service_stops_though_a_cell_hangs(stage, daemon, server):
    client = stage.client()
    server.hang()
    until(lambda: a_host_of(client, CELL2) is None, 'cell two is given up')

    status, seconds = daemon.stop()

    assert status == 0
    assert seconds < SOON
    server.resume()


def test_a_cut_of_all_connections_costs_no_call(stage, alone, server):
    """They are made anew by those who find them dead."""
    with Load([stage.client() for _ in range(4)]) as load:
        for _ in range(5):
            server.cut()
            # Each call is asked a second time, not a third.
            since = time.monotonic()
            until(lambda since=since: load.all_answered(since, times=5),
                  'calls are answered')

    assert {call.error for call in load.calls} == {None}
    assert not alone.said('Failed to get computes')


def test_when_no_cell_answers_it_is_a_database_not_a_full_cloud(
        stage, alone, server):
    """And the first call after it answers is answered."""
    client = stage.client()
    assert client.pick() == 'h3'

    server.stop()
    with pytest.raises(messaging.RemoteError, match=(
            'DatabaseUnavailable The scheduler cannot read a database')):
        client.pick()
    assert alone.said(f'cell {CELL2}(two) cannot be read')

    server.start()
    assert client.pick() == 'h3'
