"""Named locks of a real database server."""

import threading

import pytest

from nova_sched import exception
from nova_sched.db import engine
from nova_sched.db.named_locks import NamedLocks
from tests.builders.waiting import until
from tests.functional import conftest

pytestmark = pytest.mark.real


@pytest.fixture(scope='module', params=[
    conftest.MARIADB, conftest.POSTGRESQL])
def url(request):
    url, drop = conftest.new_database(request.param)
    yield url
    drop()


@pytest.fixture
def locks(url):
    """Function that returns the NamedLocks of another client."""
    made = []

    def make():
        made.append(engine.Database(url, timeout=30))
        return NamedLocks(made[-1])
    yield make
    for database in made:
        database.close()


def test_one_client_holds_a_lock_at_a_time(locks):
    one, other = locks(), locks()
    with one.held('group g', 1) as is_held:
        assert is_held
        with other.held('group g', 0) as is_held_twice:
            assert not is_held_twice

    with other.held('group g', 0) as is_held:
        assert is_held


def test_two_locks_can_be_held_at_a_time(locks):
    with locks().held('group g', 1), locks().held('group h', 0) as is_held:
        assert is_held


def test_client_waits_for_a_lock(locks):
    one, other, found = locks(), locks(), []

    def wait():
        with other.held('group g', 20) as is_held:
            found.append(is_held)

    thread = threading.Thread(target=wait)
    with one.held('group g', 1):
        thread.start()
        thread.join(0.2)
        assert not found
    until(lambda: found, 'the lock')
    thread.join()

    assert found == [True]


def test_failing_block_releases_the_lock(locks):
    one = locks()
    with pytest.raises(exception.NoValidHost), one.held('group g', 1):
        raise exception.NoValidHost(reason='')

    with locks().held('group g', 0) as is_held:
        assert is_held


def test_lost_connection_releases_the_lock(locks):
    one = locks()
    with one.held('group g', 1):
        one._database.engine.dispose()
        for connection in [one._database.engine.connect()]:
            connection.invalidate()
            connection.close()

    with locks().held('group g', 0) as is_held:
        assert is_held
