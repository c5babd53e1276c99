"""The decisions of a machine's schedulers, in a file of SQLite."""

import json
import sqlite3
import stat

import pytest

from nova_sched import exception
from nova_sched.observe import decision_store
from nova_sched.observe import decision_tables
from nova_sched.observe.decision_store import DecisionStore
from tests.builders import decisions
from tests.builders.decisions import UUIDS
from tests.builders.decisions import a_record
from tests.builders.decisions import a_refusal

MEBIBYTE = 1 << 20


@pytest.fixture(params=['file', 'memory'])
def store(request, conf):
    made = getattr(DecisionStore, f'in_{request.param}')(conf)
    yield made
    made.close()


def ids(found):
    """The request ids of summaries."""
    return [summary.request_id for summary in found]


class TestList:
    def test_has_the_newest_first(self, store):
        store.add([a_record(request_id=f'req-{i}', arrived=float(i))
                   for i in (2, 3, 1)])

        assert ids(store.summaries(2)) == ['req-3', 'req-2']

    def test_has_hosts_or_the_reason(self, store):
        store.add([a_record(instances=5, arrived=2.0),
                   a_refusal('no room', arrived=1.0)])

        placed, refused = store.summaries(10)

        assert (placed.outcome, placed.instances, placed.hosts,
                placed.reason) == ('placed', 5, ('h0', 'h1', 'h2'), None)
        assert (refused.outcome, refused.hosts, refused.reason) == (
            'refused', (), 'no room')
        assert placed.service == refused.service == 'here'

    @pytest.mark.parametrize('wanted, found', [
        ({'outcome': 'refused'}, ['req-2']),
        ({'host': 'h1'}, ['req-1']), ({'host': 'h7'}, []),
        ({'since': 15.0}, ['req-2']),
        ({'code': 'ram'}, ['req-2']), ({'code': 'disk'}, []),
        ({'kind': 'fragmented'}, ['req-2']), ({'kind': 'raced'}, [])])
    def test_has_decisions_that_match(self, store, wanted, found):
        refusal = a_refusal(arrived=20.0)
        refusal.refuse('ram', 'fragmented', [('ram', 2)])
        store.add([a_record(instances=2, arrived=10.0), refusal])

        assert ids(store.summaries(10, **wanted)) == found


class TestFinding:
    @pytest.mark.parametrize('key', ['2', 'req-9', '', '9' * 30, '\ud800',
                                     "'; --"])
    def test_unknown_key_is_an_error_with_advice(self, store, key):
        store.add([a_record()])

        with pytest.raises(exception.InvalidInput, match='is stored: give '):
            store.numbers(key)

    def test_removed_decision_is_an_error(self, store):
        with pytest.raises(exception.InvalidInput, match='any more'):
            store.document(7)


class TestDocument:
    def test_has_the_request_and_the_hosts_that_were_rejected(self, store):
        store.add([a_record(20, decisions.a_table(40))])

        found = store.document(1)

        assert found['request'] == {'instance_uuids': UUIDS[:1]}
        assert found['service'] == 'here'
        assert len(found['rejected'][0]['named']) == 3
        assert len(store.document(1, every=True)['rejected'][0]['named']) == 20

    def test_has_the_names_as_they_were_then(self, store):
        """Names of hosts are kept once for all decisions on them."""
        few, many = decisions.a_table(4), decisions.a_table(40)
        store.add([a_record(2, few), a_record(20, many), a_record(2, few)])

        for number, first in ((1, 'h2'), (2, 'h20'), (3, 'h2')):
            [rejected] = store.document(number)['rejected']
            assert rejected['named'][0]['host'] == first

    @pytest.mark.parametrize('fields', [
        {'request_id': ['a list']}, {'request_id': 'x' * 10000},
        {'request_id': 'req-\ud800\x00'}, {'reason': '\udfff'}])
    def test_odd_texts_of_callers_can_be_stored(self, store, fields):
        store.add([a_record(**fields)])

        assert store.document(1)['outcome'] == 'placed'
        assert len(store.summaries(1)[0].request_id or '') <= 255


def test_a_huge_call_is_not_stored(store):
    huge = decisions.a_refusal(decisions.noise(1 << 20))
    huge.request = {'instance_uuids': [decisions.noise(1 << 20)],
                    'spec_obj': decisions.noise(3 << 20)}
    store.add([a_record(), huge])

    found = store.document(2)
    assert found['request'] is None
    assert len(str(found)) < 30000


def test_an_unwritable_record_does_not_prevent_others(store, caplog):
    store.add([a_record(request_id='req-8', milliseconds={'x': object()}),
               a_record(request_id='req-9')])

    assert ids(store.summaries(10)) == ['req-9']
    assert 'The decision on request req-8 is not stored' in caplog.text


def batches(store):
    """How many decisions each of the batches has had."""
    with store._database.reading() as connection:
        return [last - first + 1 for first, last in connection.exec_driver_sql(
            'SELECT first, last FROM batches ORDER BY first')]


class TestBatches:
    """Decisions that are written together are kept in one piece."""

    def test_are_of_so_many_decisions(self, store):
        store.add([a_record(20, request_id=f'req-{number}')
                   for number in range(1, 251)])

        assert batches(store) == [100, 100, 50]
        for number in (1, 100, 101, 250):
            assert store.document(number)['request_id'] == f'req-{number}'

    def test_may_be_of_one_large_decision(self, store, monkeypatch):
        monkeypatch.setattr(decision_store, 'BATCH_BYTES', 10000)
        store.add([a_record(20), a_refusal(decisions.noise(20000)),
                   a_record(20)])

        assert batches(store) == [1, 1, 1]
        assert store.document(2)['outcome'] == 'refused'

    def test_are_on_the_same_hosts(self, store):
        hosts = decisions.a_table(40)
        store.add([a_record(20, hosts), a_record(20, hosts), a_refusal(),
                   a_record(2, decisions.a_table(4))])

        assert batches(store) == [3, 1]

    def test_keep_newer_decisions_when_older_ones_are_removed(self, store):
        store.add([a_record(20, request_id=f'req-{at}', arrived=float(at))
                   for at in range(1, 101)])
        store.make_room(51.0, MEBIBYTE)

        assert ids(store.summaries(1000)) == [
            f'req-{at}' for at in range(100, 50, -1)]
        assert store.document(51)['request_id'] == 'req-51'
        with pytest.raises(exception.InvalidInput):
            store.numbers('req-50')
        for gone in (1, 50):
            with pytest.raises(exception.InvalidInput, match='any more'):
                store.document(gone)

    def test_go_with_the_last_of_their_decisions(self, store):
        store.add([a_record(20, arrived=float(at)) for at in range(1, 131)])
        store.make_room(101.0, MEBIBYTE)
        assert batches(store) == [30]

        store.make_room(131.0, MEBIBYTE)
        assert batches(store) == []

    def test_take_a_fraction_of_what_their_decisions_would(self, conf):
        """A thousand of them fit into the least that may be configured."""
        store, table = DecisionStore.in_file(conf), decisions.a_table(1000)
        for start in range(0, 1000, 50):
            store.add([a_record(500, table, request_id=f'req-{number}')
                       for number in range(start, start + 50)])
        store.make_room(0.0, MEBIBYTE)
        store.close()

        assert decision_store.path(conf).stat().st_size < MEBIBYTE
        with decision_store.opened(conf) as reader:
            assert len(reader.summaries(2000)) == 1000


def test_each_of_many_instances_is_found(store):
    """More of them than one statement inserts."""
    store.add([a_record(500, instances=300)])

    assert all(store.numbers(uuid) == [1] for uuid in UUIDS)
    assert store.summaries(1)[0].hosts == ('h0', 'h1', 'h2')


class TestRoom:
    def test_is_made_by_removing_the_oldest(self, store):
        store.add([a_refusal(decisions.noise(20000 + at), f'req-{at}',
                             arrived=float(at)) for at in range(1, 300)])

        store.make_room(0.0, MEBIBYTE)

        left = ids(store.summaries(300))
        assert 10 < len(left) < 250
        assert left[0] == 'req-299' and left[-1] == f'req-{300 - len(left)}'

    def test_is_given_back_to_the_disk(self, conf, tmp_path):
        store = DecisionStore.in_file(conf)
        store.add([a_refusal(decisions.noise(20000 + at))
                   for at in range(200)])
        store.make_room(0.0, MEBIBYTE)
        store.close()

        size = decision_store.path(conf).stat().st_size
        assert size < 1.2 * MEBIBYTE

    def test_leaves_the_newest_whatever_their_size(self, store):
        store.add([a_refusal(decisions.noise(20000 + at), f'req-{at}',
                             arrived=float(at)) for at in range(1, 60)])
        store.make_room(0.0, 0)

        assert len(store.summaries(100)) == decision_tables.NEWEST

    def test_numbers_of_removed_decisions_are_not_used_again(self, store):
        """A noted number never finds another decision."""
        store.add([a_record(arrived=1.0)])
        store.make_room(2.0, MEBIBYTE)
        store.add([a_record(arrived=3.0)])

        assert store.numbers('req-1') == [2]


class TestSecrets:
    def test_in_instances_are_not_stored(self, store):
        """Old callers send the whole instance."""
        record = a_record()
        record.request = {'request_spec': {'instance_properties': {
            'project_id': 'p', 'user_data': 'c2VjcmV0',
            'metadata': {'password': 'secret'},
            'system_metadata': {'token': 'secret'},
            'display_description': 'secret'}},
            'filter_properties': {'x': [{'key_data': 'secret'}],
                                  'metadata': {'password': 'secret'}}}
        store.add([record])

        assert store.document(1)['request'] == {
            'request_spec': {'instance_properties': {'project_id': 'p'}},
            'filter_properties': {'x': [{}]}}

    @pytest.mark.parametrize('instance', [
        {'nova_object.name': 'Instance', 'nova_object.data': {
            'metadata': {'password': 'secret'}, 'display_name': 'secret'}},
        ['secret'], 'secret'])
    def test_in_unreadable_instances_are_not_stored(self, store, instance):
        record = a_record()
        record.request = {'request_spec': {'instance_properties': instance}}
        store.add([record])

        assert 'secret' not in json.dumps(store.document(1)['request'])


def test_nan_in_a_request_is_a_text(store):
    record = a_record()
    record.request = {'spec_obj': {'x': float('nan')}}
    store.add([record])

    assert store.document(1)['request'] == {'spec_obj': {'x': 'NaN'}}


class TestFile:
    def test_is_read_while_others_write_it(self, conf):
        """Each worker has it open, and commands read it."""
        workers = [DecisionStore.in_file(conf) for _ in range(2)]
        for number, worker in enumerate(workers):
            worker.add([a_record(request_id=f'req-{number}',
                                 arrived=float(number))])
            with decision_store.opened(conf) as reader:
                assert ids(reader.summaries(1)) == [f'req-{number}']

    @pytest.mark.parametrize('is_there', [False, True])
    def test_is_readable_for_owner_and_group(self, conf, is_there):
        path = decision_store.path(conf)
        if is_there:
            path.touch(0o666)
        DecisionStore.in_file(conf)

        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_with_another_version_is_left_alone_and_named(
            self, conf, tmp_path):
        other = tmp_path / 'nova_sched_decisions_99.sqlite'
        other.write_bytes(b'of another release')

        with pytest.raises(exception.InvalidInput,
                           match=r'_99\.sqlite is of another release'):
            DecisionStore.to_read(conf)
        DecisionStore.in_file(conf).add([a_record()])
        assert other.read_bytes() == b'of another release'

    def test_is_not_made_by_reading(self, conf, tmp_path):
        with pytest.raises(exception.InvalidInput, match='state_path'):
            DecisionStore.to_read(conf)
        assert not list(tmp_path.iterdir())

    def test_which_is_not_sqlite_is_moved_aside(self, conf, tmp_path):
        """Readers get an error, and change nothing."""
        path, other = decision_store.path(conf), b'something else' * 100
        path.write_bytes(other)
        with (pytest.raises(exception.DatabaseUnavailable,
                            match='not a database'),
              decision_store.opened(conf) as reader):
            reader.summaries(1)
        assert path.read_bytes() == other

        DecisionStore.in_file(conf).add([a_record()])
        with decision_store.opened(conf) as reader:
            assert ids(reader.summaries(2)) == ['req-1']
        assert (tmp_path / f'{path.name}.damaged').read_bytes() == other

    def test_has_plain_tables(self, conf):
        """Operators may run their own SQL queries."""
        DecisionStore.in_file(conf).add([a_record(instances=2)])

        with sqlite3.connect(decision_store.path(conf)) as connection:
            assert connection.execute(
                'SELECT d.request_id, i.uuid, i.host FROM decisions d '
                'JOIN instances i ON i.decision_id = d.id').fetchall() == [
                ('req-1', UUIDS[0], 'h0'), ('req-1', UUIDS[1], 'h1')]


def test_a_summary_may_have_fewer_or_more_fields():
    found = decision_store.Summary.of({
        'number': 1, 'request_id': 'req-1', 'arrived': 1.0,
        'outcome': 'placed', 'instances': 1, 'service': 'here', 'hosts': [],
        'reason': None, 'later': True})

    assert (found.number, found.code) == (1, None)
