"""A database that answers a byte at a time holds nobody up for long."""

import time

import oslo_messaging as messaging
import pytest

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from tests.builders import clouds
from tests.functional import conftest
from tests.functional.processes import door_to_database
from tests.functional.processes import until

pytestmark = pytest.mark.real

#: Seconds that the service waits for a database.
TIMEOUT = 3


@pytest.fixture(params=conftest.DATABASES)
def door(request, tmp_path):
    """A Door to a new database, with its URL through it."""
    url, drop = conftest.new_database(request.param)
    door = door_to_database(url)
    yield door
    door.close()
    drop()


def serve(stage, door, group):
    """A service with one host, whose database of a group is behind a Door."""
    load(stage.database_url)
    load(door.direct)
    return stage.daemon(**{
        f'{group}__connection': door.url,
        'nova_sched__cell_timeout': TIMEOUT,
        'DEFAULT__service_down_time': 10 ** 9})


def load(url):
    database = engine.Database(url)
    schema.sync_database(database)
    cloud_file.load(database.engine, clouds.a_cloud(
        ['h0'], cells=[], host_mappings=[]))
    database.close()


def test_the_only_database(stage, door):
    serve(stage, door, 'database')
    client = stage.client()
    assert client.pick() == 'h0'

    door.trickles = True
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(messaging.RemoteError,
                           match='DatabaseUnavailable'):
            client.pick()
        assert time.monotonic() - began < 5 * TIMEOUT

    door.trickles = False
    until(lambda: picked(client) == 'h0', 'the database is back')


def test_the_api_database(stage, door):
    """What was last read of it serves meanwhile."""
    serve(stage, door, 'api_database')
    client = stage.client()
    assert client.pick() == 'h0'

    door.trickles = True
    began = time.monotonic()
    assert client.pick() == 'h0'
    assert time.monotonic() - began < 5 * TIMEOUT


def picked(client):
    try:
        return client.pick()
    except messaging.RemoteError:
        return None
