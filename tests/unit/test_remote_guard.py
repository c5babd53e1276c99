"""A hung database is waited for once and then probed."""

import functools
import logging
import threading
import time
import types

import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import reader
from tests.builders.services import no_thread
from tests.builders.waiting import until

LONG = 20


class Server:
    """A database that responds, refuses or hangs; counts its queries."""

    def __init__(self):
        self.asked, self.probed = 0, 0
        self.refuses, self.answers = False, threading.Event()
        self.answers.set()

    def ask(self, what='rows'):
        self.asked += 1
        return self._answer(what)

    def probe(self):
        self.probed += 1
        self._answer(None)

    def _answer(self, what):
        self.answers.wait(LONG)
        if self.refuses:
            raise exception.DatabaseUnavailable('Access denied')
        return what


@pytest.fixture
def server():
    server = Server()
    yield server
    server.answers.set()


@pytest.fixture
def guarded(server, monkeypatch):
    """Function that makes a Guard of the server with a timeout."""
    made = []
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 0.02)

    def guarded(timeout=LONG):
        made.append(remote.Guard('cell x', 'rows', server.probe, timeout))
        return made[-1]

    yield guarded
    for each in made:
        each.close()
    server.answers.set()
    until(lambda: not [thread for thread in threading.enumerate()
                       if thread.name == 'probe cell x'])


def asking(guard, function):
    """Return a function that sends a query and waits for the result."""
    return lambda *args: guard.ask(functools.partial(function, *args))()


def ask_all(*queries):
    """Query cells, each a (key, Guard, function); return results by key."""
    return reader._ask_all(
        [types.SimpleNamespace(cell=cell, guard=guard, read=read)
         for cell, guard, read in queries], lambda each: each.read())


def test_other_errors_do_not_count_as_failure(server, guarded):
    """They do not show whether the database responds."""
    def ask():
        raise ZeroDivisionError

    found = guarded()
    with pytest.raises(ZeroDivisionError):
        asking(found, ask)()

    assert asking(found, server.ask)() == 'rows'


def test_hung_database_is_waited_for_once(server, guarded, caplog):
    caplog.set_level(logging.WARNING)
    server.answers.clear()
    found = guarded(timeout=0.2)
    ask, begin = asking(found, server.ask), time.monotonic()

    # Separate waits would take far longer than LONG.
    for _ in range(200):
        with pytest.raises(exception.DatabaseUnavailable,
                           match=r'no answer within 0\.2 seconds'):
            ask()

    assert 0.2 <= time.monotonic() - begin < LONG
    assert server.asked == 1
    [record] = caplog.records
    assert record.getMessage() == (
        'Failed to get rows for cell x; not querying its database until a '
        'probe succeeds: no answer within 0.2 seconds')


def test_dead_connection_is_replaced_at_once(server, guarded, caplog):
    caplog.set_level(logging.INFO)
    found, tries = guarded(), []

    def ask():
        tries.append(1)
        if len(tries) == 1:
            raise exception.DatabaseUnavailable('Lost connection')
        return server.ask()

    assert asking(found, ask)() == 'rows'
    assert len(tries) == 2
    assert found.down_reason is None
    assert caplog.messages == []


def test_refusing_database_is_queried_by_next_request(server, guarded, caplog):
    caplog.set_level(logging.INFO)
    server.refuses = True
    ask = asking(found := guarded(), server.ask)
    for number in range(1, 4):
        with pytest.raises(exception.DatabaseUnavailable,
                           match='Access denied'):
            ask()
        assert server.asked == 2 * number
        assert found.down_reason == found.contact.error == 'Access denied'
        assert found.contact.failures == number

    server.refuses = False

    assert found.contact.last_success is None
    assert ask() == 'rows'
    assert found.down_reason is None
    assert found.contact.failures == 0
    assert found.contact.last_success <= time.time()
    assert caplog.messages == [
        'Failed to get rows for cell x; retrying on each request, not logged '
        'again until recovery: Access denied',
        'The database for cell x is available again']
    assert server.probed == 0


def test_slowly_refusing_database_is_waited_for_once(server, guarded,
                                                     monkeypatch, caplog):
    """Like a host that is switched off and sends no packets."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(remote, 'SLOW_REFUSAL', 0.1)
    server.refuses = True
    found = guarded()

    def ask():
        time.sleep(0.1)
        return server.ask()

    for _ in range(3):
        with pytest.raises(exception.DatabaseUnavailable,
                           match='Access denied'):
            asking(found, ask)()

    assert server.asked == 2
    assert caplog.messages == [
        'Failed to get rows for cell x; not querying its database until a '
        'probe succeeds: Access denied']
    server.refuses = False
    until(lambda: not found.hangs)
    assert asking(found, ask)() == 'rows'


def test_hanging_probe_is_repeated(server, guarded):
    found, probes = guarded(timeout=0.1), []

    def probe():
        probes.append(1)
        if len(probes) == 1:
            server.answers.wait(LONG)

    found._probe = probe
    server.answers.clear()
    with pytest.raises(exception.DatabaseUnavailable):
        asking(found, server.ask)()

    until(lambda: not found.hangs)
    assert len(probes) >= 2


def test_second_attempt_has_remaining_time(server, guarded):
    found, tries = guarded(timeout=0.3), []

    def ask():
        tries.append(1)
        if len(tries) == 1:
            raise exception.DatabaseUnavailable('Lost connection')
        server.answers.wait(LONG)

    server.answers.clear()
    begin = time.monotonic()
    with pytest.raises(exception.DatabaseUnavailable,
                       match=r'no answer within 0\.3 seconds'):
        asking(found, ask)()

    assert time.monotonic() - begin < LONG
    assert found.hangs


def test_successful_probe_ends_outage(server, guarded, caplog):
    caplog.set_level(logging.INFO)
    server.answers.clear()
    ask = asking(found := guarded(timeout=0.1), server.ask)
    with pytest.raises(exception.DatabaseUnavailable):
        ask()
    until(lambda: server.probed)
    assert found.hangs
    assert found.contact.error == 'no answer within 0.1 seconds'

    server.answers.set()
    until(lambda: not found.hangs)
    assert (found.contact.failures, found.contact.error) == (0, None)
    found._timeout = LONG
    # A failure soon after it doubles the interval between probes.
    assert found._next_interval() == 2 * remote.PROBE_INTERVAL

    assert ask() == 'rows'
    assert found.down_reason is None
    assert 'The database for cell x is available again' in caplog.text
    probed = server.probed
    time.sleep(0.1)
    assert server.probed == probed


def test_missing_probe_thread_leaves_queries_on(server, guarded, caplog):
    caplog.set_level(logging.INFO)
    server.answers.clear()
    found = guarded(timeout=0.1)
    ask = asking(found, server.ask)
    for _ in range(2):
        result = found.ask(server.ask)
        with no_thread(), pytest.raises(exception.DatabaseUnavailable):
            result()
    assert (found.hangs, found.contact.failures) == (False, 2)
    assert [line for line in caplog.messages if 'cell x' in line] == [
        'Failed to get rows for cell x; retrying on each request, not logged '
        'again until recovery: no answer within 0.1 seconds, and no probe: '
        "can't start new thread"]
    server.answers.set()
    found._timeout = LONG

    assert ask() == 'rows'
    assert caplog.messages[-1] == 'The database for cell x is available again'


def test_probes_go_on_after_any_error(server, guarded, caplog, monkeypatch):
    """Logged once, and again after a recovery."""
    found = guarded(timeout=0.1)
    for _ in range(2):
        errors = [ValueError('not mine'), ValueError('not mine'), None]
        monkeypatch.setattr(found, '_probe', functools.partial(fail, errors))
        server.answers.clear()
        with pytest.raises(exception.DatabaseUnavailable):
            asking(found, server.ask)()
        until(lambda left=errors: not left)
        until(lambda: not found.hangs)

    assert [line.rpartition(': ')[2] for line in caplog.messages
            if 'are not logged' in line] == ["ValueError('not mine')"] * 2


def fail(errors):
    if errors and (error := errors.pop(0)):
        raise error


@pytest.mark.parametrize('hangs', [False, True])
def test_closed_guard_neither_logs_nor_probes(server, guarded, caplog, hangs):
    found = guarded(timeout=0.1)
    found.close()
    server.refuses = True
    if hangs:
        server.answers.clear()

    with pytest.raises(exception.DatabaseUnavailable):
        asking(found, server.ask)()

    assert caplog.messages == []
    assert server.probed == 0


def test_databases_are_queried_in_parallel(guarded):
    """Slow databases are left out and cost their timeout once."""
    servers = [Server() for _ in range(4)]
    for hung in servers[:2]:
        hung.answers.clear()
    begin = time.monotonic()

    found = ask_all(*(
        (number, guarded(timeout=0.3), functools.partial(server.ask, number))
        for number, server in enumerate(servers)))

    assert found == {2: 2, 3: 3}
    assert time.monotonic() - begin < LONG
    for hung in servers[:2]:
        hung.answers.set()


def test_fault_affects_one_database_and_is_logged_once(server, guarded,
                                                       caplog):
    faulty, well = guarded(), guarded()
    for _ in range(3):
        assert ask_all(('x', faulty, lambda: 1 / 0),
                       ('y', well, server.ask)) == {'y': 'rows'}

    assert caplog.text.count('ZeroDivisionError: ') == 1


def test_probe_interval_doubles_up_to_a_minute(server, guarded):
    """A long time without failure resets it."""
    found = guarded()
    intervals = []
    for _ in range(15):
        found._up_since = time.monotonic()
        found._interval = found._next_interval()
        intervals.append(found._interval)
    found._up_since -= 1000

    assert intervals[1] == 2 * intervals[0]
    assert intervals[-1] == remote.MAX_PROBE_INTERVAL
    assert found._next_interval() == remote.PROBE_INTERVAL


class TestLog:

    def test_log_line_names_query(self, guarded, caplog):
        """Wrapped functions have the inner name, other objects their repr."""
        class Query:
            def __repr__(self):
                return 'a query'
        for query, name in (
                (functools.partial(functools.partial(Server.ask)),
                 'Server.ask'), (Query(), 'a query')):
            assert remote._name(query) == name
        found = guarded()
        for _ in range(2):
            found.log_failure(Server.ask, ZeroDivisionError('x'))
        found.log_failure(Server.probe,
                          exception.DatabaseUnavailable('it is away'))
        fault, expected = caplog.records
        assert fault.levelname == 'ERROR'
        assert fault.exc_info[0] is ZeroDivisionError
        assert 'failures of Server.ask are not logged' in fault.getMessage()
        assert fault.getMessage().endswith("ZeroDivisionError('x')")
        assert expected.levelname == 'WARNING'
        assert not expected.exc_info
        assert expected.getMessage().endswith(': it is away')
