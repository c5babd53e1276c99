"""Reads of changed rows.

On SQLite, also with the functions that compute digests on MySQL.
"""

import hashlib
import logging
import types

import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import cell_reader
from nova_sched.db import changed_rows
from nova_sched.db import statements
from nova_sched.db.changed_rows import KnownRows
from nova_sched.inventory.cell import CellInventory
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_service
from tests.builders.interleavings import Clock
from tests.builders.interleavings import known

HOSTS = 9
HOST = cell_reader.columns.COMPUTE_NODE_COLUMNS.index('host')
#: In the year of the Clock.
OLD, NEW = '2026-12-01 00:00:00', '2027-01-15 08:00:00'


def _sha1(text):
    return hashlib.sha1(str(text).encode()).hexdigest()


def _hex(text):
    return None if text is None else str(text).encode().hex()


def _concat_ws(separator, *parts):
    return separator.join(str(part) for part in parts if part is not None)


class Scene:
    """A cell of HOSTS hosts with its known rows.

    sent: the statements of the last read.
    """

    def __init__(self, cell, clock, with_digests):
        self.cell, self.clock = cell, clock
        self.with_digests, self.sent = with_digests, []
        self.nodes, self.services = KnownRows(), KnownRows()
        engine = cell.db.engine
        sa.event.listen(engine, 'connect', _add_functions)
        sa.event.listen(engine, 'before_cursor_execute', self._note)

    def _note(self, connection, cursor, statement, *others):
        if statement != 'BEGIN':
            self.sent.append(statement)

    def read(self, seconds=0):
        """Read after some seconds: the Found of nodes and of services."""
        self.clock.now += seconds
        with self.cell.db.reading() as connection:
            del self.sent[:]
            found = self.cell.changes(
                connection, self.nodes, self.services, self.clock.now)
        self.changed = self.nodes.pairs(found[0])
        self.nodes.take(found[0])
        self.services.take(found[1])
        return found

    def settled(self):
        """Read until no row is new."""
        self.read()
        self.read(changed_rows.YOUNG + 1)
        return self


def _add_functions(connection, record):
    connection.create_function('sha1', 1, _sha1)
    connection.create_function('hex', 1, _hex)
    connection.create_function('concat_ws', -1, _concat_ws)


@pytest.fixture(params=[True, False], ids=['digests', 'rows'])
def with_digests(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(
            changed_rows, 'digest_of', lambda connection, columns:
            changed_rows._sha1(columns))
    return request.param


@pytest.fixture
def scene(load, hosts, db, monkeypatch, with_digests):
    clock = Clock()
    monkeypatch.setattr(changed_rows, 'time', clock)
    names = [f'host{number}' for number in range(1, HOSTS + 1)]
    load(hosts=names, compute_nodes=[
        a_compute_node(name, updated_at=OLD) for name in names], services=[
            a_service(name, last_seen_up=NEW) for name in names])
    hosts.skip_heartbeats()
    cells = []
    hosts.for_each_cell(cells.append)
    yield Scene(cells[0], clock, with_digests)
    hosts.close()


def test_first_read_fetches_all_rows_and_the_next_only_totals(scene):
    for found in scene.read():
        assert len(found.rows) == HOSTS
        assert found.whole

    scene.read(changed_rows.YOUNG + 1)
    for found in scene.read(changed_rows.PART / 2):
        assert not found.rows
    assert len(scene.sent) == 1


def test_new_stamps_come_with_the_totals(scene, execute):
    """A separate list would read the whole table."""
    scene.settled()
    execute("UPDATE compute_nodes SET vcpus_used = 3, "
            "updated_at = '2027-01-15 08:00:03' WHERE id IN (2, 4)")

    nodes, _ = scene.read(0.1)

    assert [*nodes.rows] == [2, 4]
    assert len(scene.sent) == 2
    assert len([sql for sql in scene.sent if 'cpu_info,' in sql]) == 1


@pytest.mark.parametrize('text', [
    '2:{mark}:{check},4:{mark}:{che}', '2:{mark}:{check},4:1', '2:', '', None,
    '2:{mark}:{check},4', '1:{mark}:{check},999:1:1,-:-:-'])
def test_truncated_list_is_completed(scene, execute, monkeypatch, text):
    """By default MySQL truncates it after 1024 octets."""
    scene.settled()
    execute("UPDATE compute_nodes SET vcpus_used = 3, "
            "updated_at = '2027-01-15 08:00:03' WHERE id IN (2, 4)")
    listed = changed_rows._listed

    def cut(found):
        if not found:
            return listed(found)
        mark, check = listed(found)[2]
        return listed(text and text.format(mark=mark, check=check,
                                           che=str(check)[:-1]))

    monkeypatch.setattr(changed_rows, '_listed', cut)
    nodes, _ = scene.read(0.1)
    scene.read(0.1)

    assert {2, 4} <= {*nodes.rows}
    assert 999 not in scene.nodes.rows


def test_many_equal_stamps_are_not_listed(scene, execute, monkeypatch):
    """In a cloud that was loaded at once, until a row is newer."""
    monkeypatch.setattr(changed_rows, 'CROWD', HOSTS - 1)
    scene.settled()
    assert scene.read(0.1)[0].listed == 0

    for host, second in ((4, 3), (5, 9)):
        execute("UPDATE compute_nodes SET updated_at = "
                f"'2027-01-15 08:00:0{second}' WHERE id = {host}")
        assert [*scene.read(0.1)[0].rows] == [host]

    assert scene.read(0.1)[0].listed == 2


class TestTwoConnections:
    """For many hosts."""

    @pytest.fixture(autouse=True)
    def many(self, scene, monkeypatch):
        scene.settled()
        monkeypatch.setattr(cell_reader, 'MANY', 0)

    @staticmethod
    def change(execute):
        execute("UPDATE compute_nodes SET updated_at = "
                "'2027-01-15 08:00:03' WHERE id = 4")
        execute('UPDATE services SET disabled = 1 WHERE id = 2')

    @staticmethod
    def refuse(*args):
        raise exception.DatabaseUnavailable('Too many connections')

    @pytest.mark.parametrize('second', ['open', 'refused', 'not in pool'])
    def test_changes_are_found(self, scene, execute, monkeypatch, second):
        """Also without a second connection."""
        if second == 'refused':
            monkeypatch.setattr(scene.cell, 'changes_of', self.refuse)
        if second == 'not in pool':
            monkeypatch.setattr(scene.cell, 'changes_of', None)
            monkeypatch.setattr(scene.cell.db, 'options', {
                'max_pool_size': 1, 'max_overflow': 0})
            scene.cell.__dict__.pop('has_two_connections', None)
        self.change(execute)

        nodes, services = scene.read(0.1)

        assert ([*nodes.rows], [*services.rows]) == ([4], [2])

    @pytest.mark.parametrize('table', ['compute_nodes', 'services'])
    def test_read_fails_without_a_table(self, scene, execute, table):
        execute(f'ALTER TABLE {table} RENAME TO elsewhere')
        with pytest.raises(exception.DatabaseUnavailable):
            scene.read(0.1)
        execute(f'ALTER TABLE elsewhere RENAME TO {table}')

        nodes, services = scene.read(0.1)

        # New statements read all rows.
        assert (nodes.whole, services.whole) == (True, True)
        assert not scene.read(0.1)[0].whole


def test_heartbeats_are_not_fetched(scene, execute):
    scene.settled()
    execute("UPDATE services SET report_count = 9, "
            "last_seen_up = '2027-01-15 08:00:10'")

    _, services = scene.read(0.1)

    assert not services.rows
    assert len(scene.sent) == 1


@pytest.mark.parametrize('change', [
    'disabled = 1', 'forced_down = 1', 'version = 60',
    "last_seen_up = '2027-01-15 07:00:00'",
    "last_seen_up = '2027-01-15 09:00:00'",
    'last_seen_up = NULL, created_at = NULL'])
def test_changed_service_is_fetched_at_once(scene, execute, change):
    scene.settled()
    before = known(scene.services)
    execute(f'UPDATE services SET {change} WHERE id = 2')
    _, services = scene.read(0.1)
    assert [*services.rows] == [2]

    execute("UPDATE services SET disabled = 0, forced_down = 0, version = "
            f"{before[1][cell_reader.columns.SERVICE_COLUMNS.index('version')]}"
            f", last_seen_up = '{NEW}' WHERE id = 2")
    _, services = scene.read(0.1)
    assert [*services.rows] == [2]
    assert services.rows[2].values[-1] == 1


def test_amount_edited_by_hand_is_found_at_once(scene, execute):
    scene.settled()
    execute('UPDATE compute_nodes SET free_ram_mb = 5 WHERE id = 3')

    assert [*scene.read(0.1)[0].rows] == [3]


def test_text_edited_by_hand_is_found_within_a_minute(scene, execute, caplog):
    """It is logged, as no service of Nova does this."""
    caplog.set_level(logging.INFO)
    inventory, found = CellInventory('cell', 1), []

    def read(seconds):
        scene.clock.now += seconds
        changes = inventory.read(scene.cell, lambda hosts: ())
        inventory.accept(changes)
        return changes.nodes

    read(0)
    read(changed_rows.YOUNG + 1)
    execute("UPDATE compute_nodes SET cpu_info = 'edited' WHERE id = 3")
    for _ in range(changed_rows.SPAN):
        found += read(1)

    [(before, after)] = found
    assert before[HOST] == after[HOST] == 'host3'
    assert caplog.messages == [
        '1 row(s) of compute_nodes changed without a new timestamp or '
        'state; lowest id: 3']


def test_heartbeats_are_no_edits(scene, execute):
    """Also when all rows are compared."""
    scene.settled()
    found = []
    for second in range(10, 59):
        execute('UPDATE services SET report_count = report_count + 1, '
                f"last_seen_up = '2027-01-15 08:00:{second}'")
        found.append(scene.read(1.5)[1])

    assert not any(each.rows or each.edited for each in found)


def test_second_write_in_the_same_second_is_found(scene, execute):
    scene.settled()
    stamp = "updated_at = '2027-01-15 08:00:03'"
    execute(f'UPDATE compute_nodes SET {stamp} WHERE id = 4')
    scene.read(0.1)
    execute(f"UPDATE compute_nodes SET stats = '7', {stamp} WHERE id = 4")

    nodes, _ = scene.read(2)

    assert [after[0] for _, after in scene.changed] == [4]
    assert not nodes.edited


def test_all_rows_are_compared_after_a_minute_without_reads(scene, execute):
    scene.settled()
    execute("UPDATE compute_nodes SET cpu_info = 'edited' WHERE id = 3")

    nodes, _ = scene.read(changed_rows.SPAN + 1)

    assert nodes.whole
    assert 3 in nodes.rows
    assert len(nodes.rows) == (1 if scene.with_digests else HOSTS)


def test_many_changed_rows_are_fetched_with_all_rows(
        scene, execute, monkeypatch):
    monkeypatch.setattr(statements, 'CHUNK', 2)
    scene.settled()
    execute("UPDATE compute_nodes SET vcpus_used = 7, "
            "updated_at = '2027-01-15 08:00:03' WHERE id > 5")

    assert scene.read(0.1)[0].rows.keys() == {6, 7, 8, 9}


def test_changes_are_found_again_unless_taken(scene, execute):
    scene.settled()
    execute('UPDATE compute_nodes SET vcpus_used = 3 WHERE id = 4')
    take, scene.nodes.take = scene.nodes.take, lambda found: None
    assert [*scene.read(0.1)[0].rows] == [4]
    scene.nodes.take = take

    nodes, _ = scene.read(0.1)

    assert [*nodes.rows] == [4]


@pytest.mark.parametrize('seconds, digits', [
    (0, '19700101000000'), (-10 ** 12, '19700101000000'),
    (1_800_000_000, '20270115080000'), (10 ** 15, '99991231235959')])
def test_moments_are_within_the_range_of_databases(seconds, digits):
    """For any service_down_time."""
    assert changed_rows.moments(then=seconds)['then_digits'] == digits


def test_pairs_are_the_different_rows():
    rows = KnownRows()
    one, two, too = (changed_rows.Row(1, 0, None, values) for values in (
        (1, 'a'), (2, 'b'), (2, 'c')))

    def found(fetched, gone=()):
        return changed_rows.Found(fetched, frozenset(gone), (), 0, None, False,
                                  0.0, 'source')

    first = found({1: one, 2: two})
    assert rows.pairs(first) == [(None, one.values), (None, two.values)]
    rows.take(first)
    assert rows.pairs(first) == []
    assert rows.pairs(found({2: too}, {1})) == [
        (two.values, too.values), (one.values, None)]


@pytest.mark.parametrize('name, can', [
    ('mysql', True), ('mariadb', True), ('postgresql', False),
    ('sqlite', False)])
def test_only_mysql_and_mariadb_compute_digests(name, can):
    connection = types.SimpleNamespace(
        dialect=types.SimpleNamespace(name=name))

    made = changed_rows.digest_of(connection, [sa.column('x', sa.String)])
    assert (made is not changed_rows._NO_DIGEST) is can
