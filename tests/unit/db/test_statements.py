"""Statements that fetch only the rows whose digest is new.

On SQLite, which is taught the functions of MySQL that they need.
"""

import hashlib
import operator
import types

import pytest
import sqlalchemy as sa

from nova_sched.db import engine
from nova_sched.db import statements
from nova_sched.db import tables

COLUMNS = ('id', 'host', 'vcpus_used', 'numa_topology', 'updated_at')
NODES = tables.compute_nodes
STATEMENT = sa.select(*(NODES.c[name] for name in COLUMNS)).select_from(NODES)


def _sha1(text):
    return hashlib.sha1(str(text).encode()).hexdigest()


def _hex(text):
    return None if text is None else str(text).encode().hex()


def _concat_ws(separator, *parts):
    return separator.join(str(part) for part in parts if part is not None)


class Asked:
    """A connection of which it is known what it was asked."""

    def __init__(self, connection):
        self._connection, self.sql = connection, []
        self.dialect = connection.dialect

    def exec_driver_sql(self, sql):
        self.sql.append(sql)
        return self._connection.exec_driver_sql(sql)


class Nodes:
    """The compute nodes a, b and c, and a statement that remembers them."""

    def __init__(self, cloud):
        self._cloud, self._statement = cloud, None
        self._database = engine.Database(cloud.url)
        cloud.load(['a', 'b', 'c'])

    def read(self):
        """The rows, and the SQL that was run for them: two lists."""
        with self._database.reading() as connection:
            raw = connection.connection.driver_connection
            raw.create_function('sha1', 1, _sha1)
            raw.create_function('hex', 1, _hex)
            raw.create_function('concat_ws', -1, _concat_ws)
            asked = Asked(connection)
            if self._statement is None:
                self._statement = statements.DigestStatement(
                    asked, STATEMENT, NODES.c.id)
            return self._statement.rows(asked), asked.sql

    def hosts(self):
        """The hosts as they are read, in their order."""
        return [row[COLUMNS.index('host')] for row in self.read()[0]]

    def execute(self, sql, *values):
        self._cloud.execute(sql, *values)


@pytest.fixture
def nodes(cloud):
    return Nodes(cloud)


def test_what_is_read_is_what_the_statement_says(cloud, nodes):
    with engine.Database(cloud.url).reading() as connection:
        plain = statements.CompiledStatement(connection, STATEMENT).rows(
            connection)

    assert nodes.read()[0] == plain


def test_rows_that_did_not_change_are_not_fetched_again(nodes):
    """One statement, for the digests, and the very same tuples."""
    before, _ = nodes.read()

    after, asked = nodes.read()

    assert len(asked) == 1
    assert all(map(operator.is_, before, after))


@pytest.mark.parametrize('change', [
    'vcpus_used = 7', "numa_topology = '{}'", "numa_topology = ''",
    "updated_at = '2035-01-01 00:00:00'", "host = 'z'"])
def test_a_row_that_changed_is_fetched_alone(nodes, change):
    """By its key, with whatever column differs, and remembered as it is."""
    before, _ = nodes.read()
    nodes.execute(f"UPDATE compute_nodes SET {change} WHERE host = 'b'")

    after, asked = nodes.read()

    assert len(asked) == 2
    assert 'IN (2)' in asked[1]
    assert [old is new for old, new in zip(before, after, strict=True)] == [
        True, False, True]
    assert after[1] != before[1]
    assert len(nodes.read()[1]) == 1


def test_texts_are_told_from_their_neighbours_and_from_null(nodes):
    """Whatever separators they hold."""
    nodes.read()
    for host, text in (('1,2', '3'), ('1', '2,3'), ('1', None), ('1', '~')):
        nodes.execute('UPDATE compute_nodes SET host = ?, numa_topology = ? '
                      'WHERE id = 2', host, text)

        rows, _ = nodes.read()

        assert (rows[1][1], rows[1][3]) == (host, text)


def test_rows_that_go_are_forgotten_and_fetched_when_they_come_back(nodes):
    """What is remembered does not grow with what there was."""
    nodes.read()
    nodes.execute("UPDATE compute_nodes SET id = 9 WHERE host = 'a'")
    assert nodes.hosts() == ['b', 'c', 'a']
    nodes.execute("UPDATE compute_nodes SET id = 1 WHERE host = 'a'")

    _, asked = nodes.read()

    assert len(asked) == 2
    assert nodes.hosts() == ['a', 'b', 'c']


def test_many_rows_that_changed_are_fetched_by_reading_all(
        nodes, monkeypatch):
    """No statement is as long as that; those that are the same stay."""
    monkeypatch.setattr(statements, '_MAX_KEYS', 1)
    before, asked = nodes.read()
    assert 'IN (' not in asked[1]
    nodes.execute('UPDATE compute_nodes SET vcpus_used = 7 WHERE id > 1')

    after, asked = nodes.read()

    assert 'IN (' not in asked[1]
    assert [row[2] for row in after] == [before[0][2], 7, 7]


def test_a_row_without_a_digest_is_fetched_each_time(nodes, monkeypatch):
    """A database that cannot tell must not hide a change."""
    monkeypatch.setitem(globals(), '_sha1', lambda text: None)
    nodes.read()
    nodes.execute('UPDATE compute_nodes SET vcpus_used = 7')

    rows, asked = nodes.read()

    assert len(asked) == 2
    assert [row[2] for row in rows] == [7, 7, 7]


@pytest.mark.parametrize('name, can', [
    ('mysql', True), ('mariadb', True), ('postgresql', False),
    ('sqlite', False)])
def test_only_mysql_and_mariadb_make_digests(name, can):
    connection = types.SimpleNamespace(
        dialect=types.SimpleNamespace(name=name))

    assert statements.DigestStatement.is_supported(connection) is can
