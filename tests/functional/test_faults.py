"""Broker, Placement and API database stop or hang during calls.

Cells are in test_cells.py; the docs have the times.
"""

import contextlib
import re
import time

import oslo_messaging as messaging
import pytest

from tests.builders import clouds
from tests.builders import http_placement
from tests.functional import cell_databases
from tests.functional import processes
from tests.functional import stage as stages
from tests.functional.cell_databases import CELL1
from tests.functional.conftest import HOSTS
from tests.functional.load import Load
from tests.functional.mariadb import MariaDB
from tests.functional.processes import until
from tests.functional.rabbitmq import RabbitMQ

pytestmark = pytest.mark.real

CALLERS = 4
#: Seconds that the service waits for a database, and for Placement.
TIMEOUT = 5
#: Seconds without a sign of life after which a caller gives up.
PATIENCE = 20


@contextlib.contextmanager
def load(stage):
    """A Load for a block; each caller has been answered before."""
    clients = [stage.client(DEFAULT__rpc_response_timeout=PATIENCE)
               for _ in range(CALLERS)]
    with Load(clients, pause=0.05) as load:
        until_answered(load, 0)
        yield load


def until_answered(load, began):
    until(lambda: load.all_answered(began, times=3),
          'each caller is answered', 5 * PATIENCE)


def served(daemon):
    """The placed instances, with repetitions: list."""
    return [uuid for line in daemon.lines(' placed: ') for uuid
            in re.findall(r'([0-9a-f-]{36}) on ', line)]


@pytest.fixture
def broker_stage(tmp_path):
    """(private RabbitMQ, Stage on it)."""
    broker = RabbitMQ()
    with contextlib.ExitStack() as stack:
        [url] = stack.enter_context(cell_databases.new(1))
        stack.callback(broker.end)
        broker.start()
        stage = stages.Stage(tmp_path, broker.url, url)
        stack.callback(stage.close)
        yield broker, stage


def test_restart_of_the_broker_has_no_call_decided_twice(broker_stage):
    """All calls after the service's reconnection are answered."""
    broker, stage = broker_stage
    stage.cloud(4, live=False)
    daemon = stage.daemon(workers=2, DEFAULT__service_down_time=10 ** 9)

    with load(stage) as calls:
        broker.stop()
        broker.start()
        until_answered(calls, time.monotonic())
        back = time.monotonic()
        until_answered(calls, back)

    answered = {call.instance for call in calls.calls if call.host}
    until(lambda: answered <= set(served(daemon)), 'a line of each answer')
    placed = served(daemon)
    assert len(placed) == len(set(placed))
    assert not [call for call in calls.since(back) if call.error]
    # Calls sent before the service has declared its queues are lost; their
    # callers time out.
    assert {call.error for call in calls.calls} <= {None, 'MessagingTimeout'}
    assert len(daemon.workers) == 2


@pytest.fixture
def door(placement):
    """An open Door to Placement."""
    with processes.door_to(placement.url) as door:
        yield door


def test_stopped_placement_means_no_valid_host_until_it_is_back(
        stage, placement, door):
    """No claim of a refused call stays."""
    holding = http_placement.remembering(placement)
    behind(stage, door)

    with load(stage) as calls:
        gone = time.monotonic()
        door.close()
        until(lambda: len([call for call in calls.since(gone)
                           if call.error == 'NoValidHost']) > 2 * CALLERS,
              'calls are refused')
        # Requests on their way arrive.
        time.sleep(1)
        door.open()
        back = time.monotonic()
        until_answered(calls, back)

    assert {call.error for call in calls.calls} == {None, 'NoValidHost'}
    placed = {call.instance for call in calls.calls if call.host}
    # A claim with a lost answer may be released some seconds later.
    until(lambda: set(holding) == placed, 'claims are released')


def behind(stage, door, timeout=PATIENCE, candidates='list'):
    """Start a service with Placement behind a Door.

    timeout: seconds that it waits for Placement.
    """
    stage.load(clouds.a_cloud(HOSTS))
    return stage.daemon(
        placement__auth_type='none', placement__timeout=timeout,
        placement__endpoint_override=door.url,
        nova_sched__candidates=candidates,
        nova_sched__no_valid_host_text='filters',
        DEFAULT__service_down_time=10 ** 9)


def test_trickling_placement_delays_no_call_for_long(stage, placement, door):
    """Each call is answered, and without error once Placement is well."""
    behind(stage, door, timeout=2, candidates='mirror')

    with load(stage) as calls:
        door.trickles = True
        slow = time.monotonic()
        until(lambda: len(calls.since(slow)) > 3 * CALLERS,
              'calls are answered', 5 * PATIENCE)
        door.trickles = False
        door.cut()
        until_answered(calls, time.monotonic())
        back = time.monotonic()
        until_answered(calls, back)

    assert {call.error for call in calls.calls} <= {
        None, 'NoValidHost', 'PlacementUnavailable'}
    assert not [call for call in calls.since(back) if call.error]


@pytest.fixture
def serving(stage):
    """A caller of a service, a function that changes its database, and the
    daemon.
    """
    stage.load(clouds.a_cloud([*HOSTS]))
    daemon = stage.daemon(DEFAULT__service_down_time=10 ** 9)

    def execute(statement):
        with stage.engine().begin() as connection:
            connection.exec_driver_sql(statement)

    return stage.client(), execute, daemon


@pytest.mark.parametrize(('gone', 'back', 'words'), [
    ('ALTER TABLE compute_nodes RENAME TO moved',
     'ALTER TABLE moved RENAME TO compute_nodes', r'compute_nodes\b'),
    ('ALTER TABLE compute_nodes RENAME COLUMN vcpus TO moved',
     'ALTER TABLE compute_nodes RENAME COLUMN moved TO vcpus',
     'its table compute_nodes has no column vcpus')])
def test_missing_table_or_column_is_an_error_until_it_is_back(
        serving, gone, back, words):
    client, execute, daemon = serving
    assert client.pick() in HOSTS
    workers = daemon.workers

    execute(gone)
    with pytest.raises(messaging.RemoteError) as refused:
        client.pick()
    assert refused.value.exc_type == 'DatabaseUnavailable'
    assert re.search(words, daemon.text)

    execute(back)
    assert client.pick() in HOSTS
    assert daemon.workers == workers


def test_dropped_optional_column_counts_as_absent(serving):
    client, execute, _ = serving
    assert client.pick() in HOSTS

    execute('ALTER TABLE compute_nodes DROP COLUMN metrics')

    assert client.pick() in HOSTS


@pytest.fixture
def api():
    """The MariaDB of the API database."""
    server = MariaDB('nova_api')
    server.start()
    yield server
    server.end()


@pytest.fixture
def cell_daemon(stage, api):
    """A service with one cell in a database of its own."""
    stage.load(clouds.a_cloud([*HOSTS], cells=[], host_mappings=[]))
    cell_databases.fill(api.url, cells=[(CELL1, 'one', stage.database_url)])
    return stage.daemon(
        api_database__connection=api.url, nova_sched__cell_timeout=TIMEOUT,
        nova_sched__pick_lifetime=0,    # instances are never built
        DEFAULT__service_down_time=10 ** 9)


@pytest.mark.parametrize(('begin', 'end', 'words'), [
    ('stop', 'start', 'Failed to get aggregates and mappings'),
    ('hang', 'resume', 'until a probe succeeds')])
def test_calls_are_answered_without_the_api_database(
        stage, cell_daemon, api, begin, end, words):
    """From its last read; only one read waits for it."""
    with load(stage) as calls:
        getattr(api, begin)()
        cell_daemon.wait_for_lines(words)
        until_answered(calls, time.monotonic())
        getattr(api, end)()
        cell_daemon.wait_for_lines('is available again')
        until_answered(calls, time.monotonic())

    assert {call.error for call in calls.calls} == {None}
    assert len(cell_daemon.lines(words)) == 1
