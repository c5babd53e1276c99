"""Ended requests are logged, and their records stored without delay."""

import contextlib
import errno
import logging
import os
import pathlib
import sqlite3
import threading

import pytest

from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.decision import Decision
from nova_sched.observe import decision_store
from nova_sched.observe import recorder
from nova_sched.observe.recorder import Recorder
from tests.builders import decisions
from tests.builders import rules
from tests.builders import waiting
from tests.builders.decisions import NOW
from tests.builders.decisions import a_record


@pytest.fixture
def conf(tmp_path):
    return rules.a_conf(DEFAULT__state_path=str(tmp_path / 'state'))


@pytest.fixture
def state(tmp_path):
    """The directory of the file."""
    made = tmp_path / 'state'
    made.mkdir()
    return made


@pytest.fixture
def made(conf):
    made = Recorder(conf)
    yield made
    made.stop()


@pytest.fixture
def started(made, state):
    """One that writes by itself."""
    made.start()
    return made


def kept(made):
    """The request ids in the store, oldest first."""
    with made.reading() as store:
        return [each.request_id for each in store.summaries(10000)][::-1]


def in_file(conf):
    with decision_store.opened(conf) as store:
        return [each.request_id for each in store.summaries(10000)]


def test_records_are_in_the_file_within_a_second(conf, started):
    assert recorder.INTERVAL <= 0.5
    started.add(a_record())

    def is_there():
        with contextlib.suppress(exception.NovaSchedException):
            return in_file(conf) == ['req-1']

    waiting.until(is_there)


def test_a_stop_writes_waiting_records(conf, state):
    made = Recorder(conf)
    made.start()
    made.add(a_record())
    made.stop()

    assert in_file(conf) == ['req-1']


def test_nothing_is_stored_with_size_0(conf, started):
    """A reload of the configuration may change it."""
    for size, there in ((0, []), (512, ['req-1']), (0, ['req-1'])):
        conf.set_override('decisions_max_mb', size, 'nova_sched')
        started.reloaded()
        started.add(a_record())
        assert kept(started) == there


def test_a_call_that_is_too_large_is_dropped_at_once(state, made):
    large = a_record(request_id='req-large')
    large.request = {'instance_uuids': decisions.UUIDS[:1],
                     'spec_obj': 'x' * 300_000}
    large.pack()
    made.add(large)

    assert large.size < a_record().size + 1000
    with made.reading() as store:
        found = store.document(1)
    assert found['request'] is None
    assert found['instance_uuids'] == decisions.UUIDS[:1]


def test_without_a_configuration_nothing_is_stored(caplog):
    with caplog.at_level(logging.INFO):
        made = Recorder()
        made.start()
        made.add(a_record())

    assert 'Request for 1 instance(s) placed' in caplog.text
    assert 'decisions' not in [thread.name for thread in threading.enumerate()]


class TestWithoutAFile:
    """There is no directory state."""

    def test_records_are_in_memory_which_is_logged_once(self, made, caplog):
        for _ in range(2):
            made.add(a_record())
            kept(made)

        assert kept(made) == ['req-1', 'req-1']
        assert caplog.text.count('kept in memory only') == 1
        assert 'state_path must be a directory' in caplog.text

    def test_memory_is_bounded(self, made, monkeypatch):
        monkeypatch.setattr(decision_store, 'IN_MEMORY', 1 << 20)
        monkeypatch.setattr(recorder, 'ROOM_INTERVAL', 0)

        for start in range(0, 300, 50):
            for number in range(start, start + 50):
                made.add(decisions.a_refusal(decisions.noise(20000 + number)))
            count = len(kept(made))

        assert 10 < count < 250


class TestFileThatCannotBeWritten:
    @pytest.fixture
    def failing(self, state, made, monkeypatch):
        """Function: have writes fail, or not."""
        whole = decision_store.DecisionStore.add
        states = {'fails': False}

        def add(self, records):
            if states['fails']:
                raise exception.DatabaseUnavailable('the disk is full')
            whole(self, records)

        monkeypatch.setattr(decision_store.DecisionStore, 'add', add)
        return lambda fails: states.update(fails=fails)

    def test_is_logged_once_and_when_it_ends(self, made, failing, caplog):
        caplog.set_level(logging.INFO, 'nova_sched.observe.recorder')
        failing(True)
        for number in range(3):
            made.add(a_record(request_id=f'req-{number}',
                              arrived=NOW + number))
            with pytest.raises(exception.DatabaseUnavailable):
                kept(made)
        assert caplog.text.count('the disk is full') == 1
        failing(False)

        assert kept(made) == ['req-0', 'req-1', 'req-2']
        assert caplog.text.count('Decisions are stored again') == 1

    @pytest.mark.parametrize('limit, most, first', [
        ('MOST_WAITING', 5, 15), ('MOST_BYTES', 3 * a_record().size, 17)])
    def test_uses_bounded_memory(self, made, monkeypatch, limit, most, first):
        """Whatever the disk does, requests go on."""
        monkeypatch.setattr(recorder, limit, most)
        with made._writing:
            for number in range(20):
                made.add(a_record(request_id=f'req-{number}',
                                  arrived=NOW + number))

        assert kept(made) == [f'req-{number}' for number in range(first, 20)]

    def test_cannot_be_read(self, made, monkeypatch):
        monkeypatch.setattr(recorder, 'LAST_WRITE', 0.01)
        with (made._writing, pytest.raises(exception.DatabaseUnavailable),
              made.reading()):
            pass


@pytest.mark.parametrize('step', ['in_file', 'make_room'])
def test_a_file_that_another_process_writes_is_waited_for(
        conf, state, made, monkeypatch, step):
    """What is written before it makes room is not written again."""
    made.add(a_record())
    with monkeypatch.context() as patch:
        patch.setattr(decision_store.DecisionStore, step, failed(
            exception.DatabaseUnavailable('database is locked')))
        with pytest.raises(exception.DatabaseUnavailable):
            kept(made)

    assert kept(made) == ['req-1'] == in_file(conf)


def test_a_file_that_is_removed_is_made_again(conf, state, made):
    made.add(a_record(request_id='req-1'))
    kept(made)
    decision_store.path(conf).unlink()
    made.add(a_record(request_id='req-2'))
    with pytest.raises(exception.DatabaseUnavailable):
        kept(made)

    assert kept(made) == ['req-2'] == in_file(conf)


def overwritten(start):
    def damage(path):
        with path.open('r+b') as file:
            file.seek(start)
            file.write(b'x' * 100_000)
    return damage


#: What becomes of the file -> how.
DAMAGES = {'its first page': overwritten(0), 'its tables': overwritten(4096),
           'all of it': lambda path: os.truncate(path, 0)}


class TestDamagedFile:
    """A file that was not written by SQLite is moved aside."""

    @pytest.fixture(params=DAMAGES)
    def damage(self, request, conf):
        return lambda: DAMAGES[request.param](decision_store.path(conf))

    @pytest.fixture
    def log_lines(self, caplog):
        """Function: lines of any logger, each of which has no traceback."""
        def log_lines():
            assert not [each for each in caplog.records if each.exc_info]
            return caplog.messages
        return log_lines

    def test_is_replaced_with_one_log_line(
            self, conf, state, made, damage, log_lines):
        made.add(a_record(request_id='req-1'))
        assert kept(made) == ['req-1']
        damage()
        for number in range(2, 5):
            made.add(a_record(request_id=f'req-{number}',
                              arrived=NOW + number))
            kept(made)

        assert kept(made) == ['req-2', 'req-3', 'req-4']
        [line] = log_lines()
        aside = f'{decision_store.path(conf)}.damaged'
        assert f'one; the damaged file is kept as {aside}: ' in line
        assert os.stat(aside).st_mode & 0o777 == 0o640

    def test_stays_if_it_cannot_be_moved(
            self, conf, state, made, damage, monkeypatch, caplog):
        kept(made)
        damage()
        monkeypatch.setattr(os, 'rename', failed(
            PermissionError(errno.EACCES, 'not yours')))
        made.add(a_record())
        with pytest.raises(exception.DatabaseUnavailable, match='not yours'):
            kept(made)

        assert caplog.text.count('Decisions cannot be stored') == 1


class TestWhileAProcessReads:
    """SQLite's log cannot become part of the file while a process reads it."""

    @pytest.fixture
    def conf(self, conf):
        conf.set_override('decisions_max_mb', 1, 'nova_sched')
        return conf

    @pytest.fixture
    def reader(self, conf, state, made):
        """A connection that reads, and does not end."""
        made.add(a_record(request_id='req-1', arrived=NOW))
        kept(made)
        with contextlib.closing(sqlite3.connect(
                decision_store.path(conf))) as reader:
            reader.execute('BEGIN')
            reader.execute('SELECT count(*) FROM decisions').fetchall()
            yield reader

    def test_the_log_beside_the_file_is_bounded(
            self, conf, made, reader, caplog):
        """Decisions wait, and the error names a way to find the reader."""
        log = pathlib.Path(f'{decision_store.path(conf)}-wal')
        with pytest.raises(exception.DatabaseUnavailable, match='fuser'):
            for number in range(100):
                for more in range(20):
                    made.add(decisions.a_refusal(decisions.noise(
                        20000 + 20 * number + more)))
                kept(made)
        size = log.stat().st_size
        for _ in range(3):
            made.add(a_record(request_id='req-last', arrived=NOW + 9))
            with pytest.raises(exception.DatabaseUnavailable):
                kept(made)
        assert log.stat().st_size == size < 3 << 20
        assert caplog.text.count('Decisions cannot be stored') == 1

        reader.rollback()
        assert 'req-last' in kept(made)


def test_a_disk_that_cannot_be_looked_at_is_tried_again(conf, state, made,
                                                        monkeypatch, caplog):
    made.add(a_record(request_id='req-1', arrived=NOW))
    kept(made)
    whole = os.stat

    def fails(path, *args, **kwargs):
        if pathlib.Path(path) == decision_store.path(conf):
            raise OSError(errno.ESTALE, 'Stale file handle')
        return whole(path, *args, **kwargs)

    made.add(a_record(request_id='req-2', arrived=NOW + 1))
    with monkeypatch.context() as patch:
        patch.setattr(decision_store.DecisionStore, 'add', failed(
            exception.DatabaseUnavailable('disk I/O error')))
        patch.setattr(os, 'stat', fails)
        with pytest.raises(exception.DatabaseUnavailable):
            kept(made)

    assert kept(made) == ['req-1', 'req-2']
    assert 'Decisions cannot be stored' in caplog.text


def failed(error):
    def fail(*args):
        raise error
    return fail


def test_old_decisions_are_removed_without_new_ones(
        conf, state, started, monkeypatch):
    monkeypatch.setattr(recorder, 'ROOM_INTERVAL', 0.01)
    waiting.until(decision_store.path(conf).exists)
    other = decision_store.DecisionStore.in_file(conf)
    other.add([a_record(arrived=1.0)])

    waiting.until(lambda: in_file(conf) == [])


def test_no_store_is_opened_with_size_0(conf, caplog):
    """There is no directory state, and that is no matter."""
    conf.set_override('decisions_max_mb', 0, 'nova_sched')
    made = Recorder(conf)
    made.start()
    made.add(a_record())
    made.stop()

    assert 'kept in memory' not in caplog.text


def test_a_fault_does_not_prevent_later_records(
        state, made, monkeypatch, caplog):
    """It is logged once."""
    whole = decision_store.DecisionStore.add
    monkeypatch.setattr(decision_store.DecisionStore, 'add',
                        lambda self, records: 1 / 0)
    for _ in range(2):
        made.add(a_record(request_id='req-1'))
        with pytest.raises(exception.DatabaseUnavailable,
                           match='division by zero'):
            kept(made)
    monkeypatch.setattr(decision_store.DecisionStore, 'add', whole)
    made.add(a_record(request_id='req-2'))

    assert kept(made) == ['req-2']
    assert caplog.text.count('decision(s) are not stored') == 1


def ended(outcome, reason, codes=(), **fields):
    """A record of a request that got no hosts."""
    record = Decision(seed=7, **fields)
    if codes:
        record.refuse('ram', 'fragmented', codes)
    record.close(outcome, reason)
    return record


TWO = {'instances': 2, 'milliseconds': {'state': 1.25},
       'request': {'instance_uuids': decisions.UUIDS[:2]}}


@pytest.mark.parametrize('record, text', [
    (a_record(instances=3), 'Request for 3 instance(s) placed: '
     '{0} on h0, {1} on h1, {2} on h2; 0 alternate(s), 2000 hosts'),
    (a_record(250, instances=250), ', {99} on h99 and 150 more; '),
    *((ended(outcome, 'no hosts', **TWO), 'Request for 2 instance(s) '
       f'({{0}}, {{1}}) {outcome}: no hosts; 0 alternate(s), 0 hosts, '
       'state 1.2 ms, seed 7')
      for outcome in (decision.REFUSED, decision.FAILED)),
    (ended(decision.REFUSED, '0 of 18 hosts', [('ram', 12), ('zone', 6)],
           instances=1), 'Request for 1 instance(s) refused: 0 of 18 hosts; '
     'code ram, kind fragmented (12 ram, 6 zone); 0 alternate(s), 0 hosts, '
     'seed 7'),
    (a_record(offer=AllocationCandidates({}, frozenset(), '1.36', age=1.44)),
     '2000 hosts, candidates from the mirror, 1.4 s old, ')])
def test_the_line_about_a_request(caplog, record, text):
    """At INFO; its instances are named, at most a hundred."""
    with caplog.at_level(logging.INFO, 'nova_sched'):
        Recorder().add(record)

    [line] = caplog.messages
    assert text.format(*decisions.UUIDS) in line
    assert decisions.UUIDS[100] not in line
