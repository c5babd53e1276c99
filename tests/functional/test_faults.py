"""What the service needs stops, hangs and is back, while calls come in.

Cells are in test_cells.py; how long all of it takes is in the docs.
"""

import contextlib
import re
import time

import oslo_messaging as messaging
import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders.http_server import HANG
from tests.functional import conftest
from tests.functional import stage as stages
from tests.functional.load import Load
from tests.functional.mariadb import MariaDB
from tests.functional.processes import Door
from tests.functional.processes import until
from tests.functional.rabbitmq import RabbitMQ

pytestmark = pytest.mark.real

CALLERS = 4
HOSTS = {host: clouds.a_uuid(number)
         for number, host in enumerate('abcd', 1)}
#: Seconds that the service waits for a database, and for Placement.
TIMEOUT = 5
#: Seconds without a sign of life after which a caller gives up.
PATIENCE = 20


@contextlib.contextmanager
def load(stage):
    """Callers that have been answered, for a block."""
    clients = [stage.client(DEFAULT__rpc_response_timeout=PATIENCE)
               for _ in range(CALLERS)]
    with Load(clients, pause=0.05) as load:
        until_answered(load, 0)
        yield load


def until_answered(load, began):
    until(lambda: load.all_answered(began, times=3),
          'each caller is answered', 5 * PATIENCE)


def served(daemon):
    """The instances that were placed, each as often as it was: list."""
    return [uuid for line in daemon.lines(' placed: ') for uuid
            in re.findall(r'([0-9a-f-]{36}) on ', line)]


@pytest.fixture
def broker_stage(tmp_path):
    """(RabbitMQ of its own, Stage on it)."""
    broker = RabbitMQ()
    url, drop = conftest.new_database()
    stage = None
    try:
        broker.start()
        stage = stages.Stage(tmp_path, broker.url, url)
        yield broker, stage
    finally:
        if stage:
            stage.close()
        broker.end()
        drop()


def test_a_broker_that_restarts_has_no_call_decided_twice(broker_stage):
    """And all calls are answered that come once the service is back."""
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
    # What is sent before the service has its queues again is lost, but its
    # callers learn so.
    assert {call.error for call in calls.calls} <= {None, 'MessagingTimeout'}
    assert len(daemon.workers) == 2


@pytest.fixture
def placement():
    """A Placement that offers all hosts and takes every claim."""
    with http_placement.offering(*HOSTS.values()) as server:
        yield server


@pytest.fixture
def door(placement):
    """The way to it, open."""
    url = sa.make_url(placement.url)
    door = Door(url.host, url.port)
    door.open()
    yield door
    door.close()


def test_a_placement_that_stops_is_asked_again_when_it_is_back(
        stage, placement, door):
    """Meanwhile there is no valid host; nobody waits, and none is left."""
    holding = http_placement.remembering(placement)
    behind(stage, door)

    with load(stage) as calls:
        gone = time.monotonic()
        door.close()
        until(lambda: len([call for call in calls.since(gone)
                           if call.error == 'NoValidHost']) > 2 * CALLERS,
              'calls are refused')
        # What was on its way is there by now.
        time.sleep(1)
        door.open()
        back = time.monotonic()
        until_answered(calls, back)

    assert {call.error for call in calls.calls} == {None, 'NoValidHost'}
    placed = {call.instance for call in calls.calls if call.host}
    # A claim whose answer was lost may be given back some seconds later.
    until(lambda: set(holding) == placed, 'claims are given back')


def behind(stage, door, timeout=PATIENCE, candidates='list'):
    """A service whose Placement is behind a Door.

    timeout: seconds that it waits for Placement.
    """
    stage.load(clouds.a_cloud([*HOSTS], compute_nodes=[
        clouds.a_compute_node(host, uuid=uuid)
        for host, uuid in HOSTS.items()]))
    return stage.daemon(
        placement__auth_type='none', placement__timeout=timeout,
        placement__endpoint_override=f'http://127.0.0.1:{door.port}',
        nova_sched__candidates=candidates,
        nova_sched__no_valid_host_text='filters',
        DEFAULT__service_down_time=10 ** 9)


def test_a_placement_that_lists_too_slowly_is_no_full_cloud(
        stage, placement, door):
    daemon = behind(stage, door, timeout=2)
    placement.on('GET', '/allocation_candidates', HANG)

    with pytest.raises(messaging.RemoteError, match=(
            'PlacementUnavailable Placement did not answer in time, within 2 '
            'seconds')):
        stage.client().pick()
    assert daemon.lines('timed out after 2 seconds')


@pytest.mark.parametrize('candidates', ['list', 'mirror'])
def test_a_placement_that_trickles_delays_no_call_for_long(
        stage, placement, door, candidates):
    """Each is answered, the last ones too, and none once it is well."""
    behind(stage, door, timeout=2, candidates=candidates)

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


@pytest.mark.parametrize('status', [403, 429])
def test_a_placement_that_refuses_all_is_sent_one_claim_a_call(
        stage, placement, door, status):
    behind(stage, door)
    placement.on('PUT', '/allocations/', http_placement.error(status))

    with pytest.raises(messaging.RemoteError, match=(
            f'Placement refuses claims with status {status}')):
        stage.client().pick()
    assert len(placement.to('PUT', '/allocations/')) == 1


def test_a_claim_that_is_not_answered_in_time_is_told_of(
        stage, placement, door):
    """It is a refusal, as in Nova."""
    daemon = behind(stage, door, timeout=2)
    placement.on('PUT', '/allocations/', HANG)

    with pytest.raises(exception.NoValidHost,
                       match='; Placement did not answer in time'):
        stage.client().pick()
    assert daemon.wait_for_lines('; Placement did not answer in time')


@pytest.fixture(params=[stages.FILTER, stages.CHANCE])
def serving(request, stage):
    """A caller of a service, a function that changes its database, and the
    daemon.
    """
    stage.load(clouds.a_cloud([*HOSTS]))
    daemon = stage.daemon(DEFAULT__service_down_time=10 ** 9,
                          scheduler__driver=request.param)

    def execute(statement):
        with stage.engine().begin() as connection:
            connection.exec_driver_sql(statement)

    return stage.client(), execute, daemon


@pytest.mark.parametrize(('gone', 'back', 'words'), [
    *((f'ALTER TABLE {table} RENAME TO moved',
       f'ALTER TABLE moved RENAME TO {table}', rf'{table}\b')
      for table in ('compute_nodes', 'services', 'aggregates')),
    ('ALTER TABLE compute_nodes RENAME COLUMN vcpus TO moved',
     'ALTER TABLE compute_nodes RENAME COLUMN moved TO vcpus',
     'its table compute_nodes has no column vcpus')])
def test_what_goes_is_told_of_until_it_is_back(serving, gone, back, words):
    client, execute, daemon = serving
    assert client.pick() in HOSTS

    execute(gone)
    with pytest.raises(messaging.RemoteError) as refused:
        client.pick()
    assert refused.value.exc_type == 'DatabaseUnavailable'
    assert re.search(words, daemon.text)

    execute(back)
    assert client.pick() in HOSTS


def test_a_column_that_goes_counts_as_absent(serving):
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
    """A service whose only cell has a database of its own."""
    stage.load(clouds.a_cloud([*HOSTS], cells=[], host_mappings=[]))
    database = engine.Database(api.url)
    schema.sync_database(database)
    cloud_file.load(database.engine, clouds.a_cloud([]))
    with database.writing() as connection:
        connection.execute(sa.update(tables.cell_mappings).values(
            database_connection=stage.database_url))
    database.close()
    return stage.daemon(
        api_database__connection=api.url, nova_sched__cell_timeout=TIMEOUT,
        nova_sched__pick_lifetime=0,    # what is asked for is never built
        DEFAULT__service_down_time=10 ** 9)


@pytest.mark.parametrize(('begin', 'end', 'words'), [
    ('stop', 'start', 'Failed to get aggregates and mappings'),
    ('hang', 'resume', 'Timeout getting aggregates and mappings')])
def test_without_the_api_database_calls_go_on_being_answered(
        stage, cell_daemon, api, begin, end, words):
    """By what was read of it last; it is waited for once."""
    with load(stage) as calls:
        getattr(api, begin)()
        cell_daemon.wait_for_lines(words)
        until_answered(calls, time.monotonic())
        getattr(api, end)()
        cell_daemon.wait_for_lines('answers again')
        until_answered(calls, time.monotonic())

    assert {call.error for call in calls.calls} == {None}
    assert len(cell_daemon.lines(words)) == 1
