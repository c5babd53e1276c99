"""A statement ends with its timeout, also if its result trickles in."""

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

#: A result that takes more than a day at a byte at a time.
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
    with processes.door_to(url) as door:
        yield door
    drop()


def read(database, door):
    """Begin a transaction, and read a result that trickles in."""
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
def test_statement_outside_of_a_call_ends(database, door, block):
    """Heartbeats and host discovery have such statements."""
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


def test_statement_ends_with_its_call(database, door):
    with pytest.raises(remote.DeadlineExceeded):
        remote.Call(2, read, database, door, name='ask').result()

    wait_for_its_end()
    assert database.engine.pool.checkedout() == 0


def test_log_in_ends_with_its_call(database, door, monkeypatch):
    """Some 100 bytes come at one byte in 10 seconds."""
    monkeypatch.setattr(processes, 'TRICKLE', 10)
    database.close()
    door.trickles = True
    with pytest.raises(remote.DeadlineExceeded):
        remote.Call(2, read, database, door, name='ask').result()

    wait_for_its_end()


def test_connection_ended_between_statements_is_not_logged(
        database, caplog):
    with database.reading():
        time.sleep(2)

    assert caplog.messages == []
    database.timeout = None
    with database.reading() as connection:
        assert connection.exec_driver_sql('SELECT 1').scalar() == 1
