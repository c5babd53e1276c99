"""No statement lasts longer than the time of its question."""

import threading
import time

import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import engine
from tests.builders import rules
from tests.functional import conftest
from tests.functional import processes

pytestmark = pytest.mark.real

#: What takes more than a day where it comes a byte at a time.
LONG = "SELECT REPEAT('x', 200000)"


@pytest.fixture
def database(door):
    """A Database behind a Door, with a connection."""
    database = engine.database(rules.a_conf(
        database__connection=door.url))
    with database.reading() as connection:
        connection.exec_driver_sql('SELECT 1')
    database.timeout = 1
    yield database
    door.trickles = False
    database.close()


@pytest.fixture(params=conftest.DATABASES)
def door(request):
    url, drop = conftest.new_database(request.param)
    door = processes.door_to_database(url)
    yield door
    door.close()
    drop()


def read(database, door):
    """Begin a transaction, and read what then comes a byte at a time."""
    with database.reading() as connection:
        connection.exec_driver_sql('SELECT 1')
        door.trickles = True
        connection.exec_driver_sql(LONG)


def write(database, door):
    with database.writing() as connection:
        connection.exec_driver_sql('SELECT 1')
        door.trickles = True
        connection.exec_driver_sql(LONG)


@pytest.mark.parametrize('block', [read, write])
def test_it_ends_though_nobody_gives_it_up(database, door, block):
    """As those of heartbeats and of host discovery."""
    failed = []

    def run():
        try:
            block(database, door)
        except exception.DatabaseUnavailable as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    processes.until(lambda: not thread.is_alive(), 'the statement ends')
    assert failed


def wait_for_its_end():
    processes.until(lambda: not [
        thread for thread in threading.enumerate() if thread.name == 'ask'],
        'its thread ends')


def test_it_ends_with_the_call_that_is_given_up(database, door):
    with pytest.raises(remote.DeadlineExceeded):
        remote.Call(2, read, database, door, name='ask').result()

    wait_for_its_end()
    assert database.engine.pool.checkedout() == 0


def test_so_does_a_log_in(database, door, monkeypatch):
    """A byte each 10 seconds, of some 100."""
    monkeypatch.setattr(processes, 'TRICKLE', 10)
    database.close()
    door.trickles = True
    with pytest.raises(remote.DeadlineExceeded):
        remote.Call(2, read, database, door, name='ask').result()

    wait_for_its_end()


def test_a_connection_that_is_ended_between_statements_is_told_of_by_none(
        database, caplog):
    with database.reading():
        time.sleep(2)

    assert caplog.messages == []
    database.timeout = None
    with database.reading() as connection:
        assert connection.exec_driver_sql('SELECT 1').scalar() == 1
