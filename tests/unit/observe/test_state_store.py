"""Host states stored with decisions."""

import pytest

from nova_sched import exception
from nova_sched.hosts.decision import State
from nova_sched.observe import state_store
from nova_sched.observe.decision_store import DecisionStore
from tests.builders import decisions
from tests.builders.hosts import a_host
from tests.builders.hosts import table


@pytest.fixture
def store(conf):
    made = DecisionStore.in_file(conf)
    yield made
    made.close()


def a_table(**values):
    return table(a_host('a'), a_host('b', **values))


def on(hosts, **fields):
    """A record of a decision on a HostTable."""
    return decisions.a_refusal(state=State.of(hosts, 0, 0.0), **fields)


def free(store, number):
    """The free RAM of the hosts of a decision."""
    return store.past(number).table.columns['free_ram_mb'].tolist()


def count(store, name):
    with store._database.reading() as connection:
        return connection.exec_driver_sql(
            f'SELECT count(*) FROM {name}').scalar()


def test_each_decision_has_the_hosts_as_they_were_then(store):
    first = a_table()
    second = first.with_values([1], {'free_ram_mb': [7]})
    third = second.with_values([0], {'free_ram_mb': [5]})
    full = first.columns['free_ram_mb'].item(0)
    store.add([on(first), on(second)])
    store.add([on(third)])

    assert [free(store, number) for number in (1, 2, 3)] == [
        [full, full], [full, 7], [5, 7]]


def test_a_state_is_stored_once_for_all_its_decisions(store):
    hosts = a_table()
    store.add([on(hosts), on(hosts), on(hosts.of(hosts.columns))])

    assert (count(store, 'bases'), count(store, 'states')) == (1, 0)
    assert free(store, 1) == free(store, 3)


def test_a_base_is_made_when_hosts_come_or_go(store):
    hosts = a_table()
    more = table(a_host('a'), a_host('b'), a_host('c'))
    store.add([on(hosts), on(more)])

    assert count(store, 'bases') == 2
    assert [len(free(store, number)) for number in (1, 2)] == [2, 3]


@pytest.mark.parametrize('limit, number, kind, rows', [
    ('MOST_AT_ONCE', 1 << 20, 'states', 1), ('MOST_AT_ONCE', 6, 'states', 3),
    ('MOST_STATES', 3, 'bases', 2)])
def test_states_that_are_written_together_are_one_row(
        store, monkeypatch, limit, number, kind, rows):
    """As far as the limits for comparing, and for one base, allow."""
    monkeypatch.setattr(state_store, limit, number)
    hosts, records = a_table(), []
    for number in range(8):
        hosts = hosts.with_values([1], {'free_ram_mb': [number]})
        records.append(on(hosts))
    store.add(records)

    assert count(store, kind) == rows
    assert [free(store, n + 1)[1] for n in range(8)] == [*range(8)]


def test_workers_have_states_of_their_own(conf, store):
    other = DecisionStore.in_file(conf)
    mine, its = a_table(free_ram_mb=1), a_table(free_ram_mb=2)
    for number in range(3):
        store.add([on(mine.with_values([0], {'free_ram_mb': [number]}))])
        other.add([on(its.with_values([0], {'free_ram_mb': [number]}))])

    assert [free(store, number) for number in range(1, 7)] == [
        [0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]]


def test_a_failed_write_starts_a_new_base(store, monkeypatch):
    hosts = a_table()
    store.add([on(hosts)])
    whole = store._insert_rows

    def insert(connection, entries):
        whole(connection, entries)
        raise exception.DatabaseUnavailable('the disk is full')

    monkeypatch.setattr(store, '_insert_rows', insert)
    with pytest.raises(exception.DatabaseUnavailable):
        store.add([on(hosts.with_values([1], {'free_ram_mb': [7]}))])
    monkeypatch.setattr(store, '_insert_rows', whole)
    store.add([on(hosts.with_values([1], {'free_ram_mb': [8]}))])

    assert free(store, 2)[1] == 8


class TestRoom:
    def test_is_made_by_states_before_decisions(self, store, monkeypatch):
        """The oldest states go first; their decisions report that."""
        monkeypatch.setattr(state_store, 'MOST_STATES', 5)
        hosts = a_table(stats={'x': decisions.noise(600000)})
        records = []
        for number in range(20):
            hosts = hosts.with_values([0], {'free_ram_mb': [number]})
            records.append(on(hosts))
        store.add(records)

        store.make_room(0.0, 1 << 20)

        assert len(store.summaries(100)) == 20
        assert free(store, 20)[0] == 19
        with pytest.raises(exception.InvalidInput, match='are not stored'):
            store.past(1)

    def test_is_made_by_the_last_base_before_the_newest_decisions(self, store):
        """With so many hosts that one base is too large."""
        hosts = a_table(stats={'x': decisions.noise(3 << 20)})
        store.add([decisions.a_record(1, hosts) for _ in range(30)])

        store.make_room(0.0, 1 << 20)

        assert len(store.summaries(100)) == 30
        assert count(store, 'bases WHERE hosts IS NOT NULL') == 0
        [rejected] = store.document(1)['rejected']
        assert rejected['named'] == [{'host': 'b', 'node': 'b'}]
        store.add([on(hosts)])
        assert free(store, 31)

    def test_unused_states_are_removed(self, store):
        store.add([on(a_table(), arrived=1.0)])
        store.add([on(table(a_host('c')), arrived=3.0)])
        store.make_room(2.0, 1 << 20)

        assert (count(store, 'bases'), count(store, 'states')) == (1, 0)

    def test_a_base_removed_by_another_worker_is_replaced(self, conf, store):
        hosts = a_table()
        store.add([on(hosts, arrived=1.0)])
        DecisionStore.in_file(conf).make_room(2.0, 1 << 20)
        store.add([on(hosts.with_values([1], {'free_ram_mb': [8]}),
                      arrived=3.0)])

        assert free(store, 2)[1] == 8
        assert store.document(2)['rejected'] == []


def test_a_decision_without_hosts_has_no_state(store):
    store.add([decisions.a_refusal()])

    with pytest.raises(exception.InvalidInput, match='"request plan"'):
        store.past(1)
    with pytest.raises(exception.InvalidInput):
        store.past(9)
