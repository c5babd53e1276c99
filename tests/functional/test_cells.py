"""Cells in databases of their own; one of them stops, hangs, comes back."""

import time

import oslo_messaging as messaging
import pytest

from nova_sched.objects import CellMapping
from nova_sched.objects import Destination
from tests.functional import cell_databases
from tests.functional.cell_databases import CELL1
from tests.functional.cell_databases import CELL2
from tests.functional.load import Load
from tests.functional.mariadb import MariaDB
from tests.functional.processes import SOON
from tests.functional.processes import until

pytestmark = pytest.mark.real

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
    """Function that starts a service on cells: (uuid, name, URL) each."""
    def serve(*cells):
        cell_databases.fill(api_url, cells=cells)
        stage.sync()
        return stage.daemon(
            api_database__connection=api_url,
            nova_sched__cell_timeout=TIMEOUT,
            nova_sched__pick_lifetime=0,    # instances are never built
            DEFAULT__service_down_time=FOREVER)

    with cell_databases.new(1) as [api_url]:
        yield serve


@pytest.fixture
def daemon(serve, server):
    """A service on cell one, hosts h0 to h2, and cell two, host h3."""
    with cell_databases.new(1) as [url]:
        cell_databases.fill(url, ['h0', 'h1', 'h2'])
        cell_databases.fill(server.url, ['h3'])
        yield serve((CELL1, 'one', url), (CELL2, 'two', server.url))


@pytest.fixture
def alone(serve, server):
    """A service with cell two, host h3, as its only cell."""
    cell_databases.fill(server.url, ['h3'])
    return serve((CELL2, 'two', server.url))


@pytest.fixture
def load(stage, daemon):
    """Four callers that call without a pause."""
    with Load([stage.client() for _ in range(4)]) as load:
        yield load


def a_host_of(client, uuid):
    """The host for a request that names a cell; None for a refusal."""
    try:
        return client.pick(requested_destination=Destination(
            cell=CellMapping(uuid=uuid)))
    except Exception as error:
        assert 'NoValidHost' in repr(error), error
        return None


def test_hanging_cell_is_waited_for_once(stage, daemon, server, load):
    client = stage.client()
    assert a_host_of(client, CELL2) == 'h3'

    server.hang()
    until(lambda: a_host_of(client, CELL2) is None, 'cell two is given up')
    time.sleep(1)    # calls that waited at the same time end
    began = time.monotonic()
    time.sleep(2 * TIMEOUT)
    waits = [call.took for call in load.since(began)]

    assert len(waits) > 20
    assert max(waits) < TIMEOUT
    server.resume()
    until(lambda: a_host_of(client, CELL2) == 'h3', 'cell two is back')
    assert not [call for call in load.calls if call.error]
    assert len(daemon.lines('until a probe succeeds')) == 1


def test_stopped_cell_costs_only_its_hosts(stage, daemon, server, load):
    client = stage.client()
    assert a_host_of(client, CELL2) == 'h3'

    server.stop()
    until(lambda: a_host_of(client, CELL2) is None, 'cell two is given up')
    assert a_host_of(client, CELL1) in {'h0', 'h1', 'h2'}

    server.start()
    until(lambda: a_host_of(client, CELL2) == 'h3', 'cell two is back')
    assert not [call for call in load.calls if call.error]
    assert len(daemon.lines('Failed to get computes for cell')) >= 1


def test_service_stops_while_a_cell_hangs(stage, daemon, server):
    client = stage.client()
    server.hang()
    until(lambda: a_host_of(client, CELL2) is None, 'cell two is given up')

    status, seconds = daemon.stop()

    assert status == 0
    assert seconds < SOON
    server.resume()


def test_cut_of_all_connections_costs_no_call(stage, alone, server):
    """A read on a dead connection is repeated on a new one."""
    with Load([stage.client() for _ in range(4)]) as load:
        for _ in range(5):
            server.cut()
            # A read is repeated once, not twice.
            since = time.monotonic()
            until(lambda since=since: load.all_answered(since, times=5),
                  'calls are answered')

    assert {call.error for call in load.calls} == {None}
    assert not alone.lines('Failed to get computes')


def test_without_any_cell_the_error_is_database_unavailable(
        stage, alone, server):
    """The first call after the cell is back is answered."""
    client = stage.client()
    assert client.pick() == 'h3'

    server.stop()
    with pytest.raises(messaging.RemoteError, match=(
            'DatabaseUnavailable The scheduler cannot read a database')):
        client.pick()
    assert alone.lines(f'cell {CELL2}(two) cannot be read')

    server.start()
    assert client.pick() == 'h3'
