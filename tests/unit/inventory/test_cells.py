"""Rows and instances of a cell are read together and reach the watcher."""

import logging
import time

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import remote
from nova_sched.db import cells as db_cells
from nova_sched.db import reader as db_reader
from nova_sched.inventory.cache import HostCache
from tests.builders import clouds
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables
from tests.builders.waiting import until
from tests.unit.inventory.test_cache import column
from tests.unit.inventory.test_cache import parsed_rows
from tests.unit.inventory.test_cache import refreshed

ONE, TWO = clouds.a_uuid(101), clouds.a_uuid(102)
SERVER, OTHER = clouds.a_uuid(1), clouds.a_uuid(2)


class Watcher:
    """Looks up the uuids in ``wanted`` and records its calls.

    meanwhile: function called by ``uuids_to_look_up``.
    """

    def __init__(self, *wanted, meanwhile=lambda: None):
        self.wanted, self._meanwhile = list(wanted), meanwhile
        self.hosts, self.located, self.tables = [], [], []

    def uuids_to_look_up(self, hosts):
        self._meanwhile()
        self.hosts.append(hosts)
        return self.wanted

    def rebase(self, table, located):
        self.tables.append(table)
        self.located.append(located)
        return f'rebased {len(self.tables)}'


class Cells:
    """Two cells with separate databases, and a cache of both."""

    def __init__(self, directory):
        tables, self.databases, cells = make_tables(directory), {}, []
        for uuid, name in ((ONE, 'one'), (TWO, 'two')):
            (directory / name).mkdir()
            self.databases[uuid] = CloudDatabase(tables, directory / name)
            cells.append(db_cells.Cell(uuid, name, self.databases[uuid].url))
        self._conf = self.databases[ONE].conf()
        self._reader = db_reader.HostReader(self._conf, cells)

    def cache(self, watcher=None):
        return HostCache(
            self._reader, config.fallback_ratios(self._conf),
            watcher=watcher)

    def close(self):
        self._reader.close()
        for database in self.databases.values():
            database.close()


@pytest.fixture(autouse=True)
def quick_probes(monkeypatch):
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 0.02)


@pytest.fixture
def cells(tmp_path):
    """Cells with the hosts a and b, and c; SERVER is on c."""
    cells = Cells(tmp_path)
    cells.databases[ONE].load(['a', 'b'], host_mappings=[])
    cells.databases[TWO].load(['c'], host_mappings=[], instances=[
        clouds.an_instance('c', uuid=SERVER)])
    yield cells
    cells.close()


@pytest.fixture
def one_cell(cells):
    """The database of a cell with host c, and a function that makes a cache.
    """
    database = cells.databases[TWO]
    conf = database.conf()

    def cache(watcher):
        reader = db_reader.HostReader(conf)
        return HostCache(reader, (1.0, 1.0, 1.0), watcher=watcher)

    return database, cache


class TestTable:

    def test_read_times_of_cells_are_recorded(self, cells):
        cache = cells.cache()
        for _ in range(2):
            before = time.time()
            reads = refreshed(cache).cells.reads

            assert [uuid for uuid, _ in reads] == [ONE, TWO]
            assert all(before <= began <= time.time() for _, began in reads)

    @pytest.mark.parametrize('lost', ['compute_nodes', 'services'])
    def test_lost_cell_is_left_out_until_back(self, cells, caplog, lost):
        """Its loss is logged once."""
        caplog.set_level(logging.WARNING)
        cache, two = cells.cache(), cells.databases[TWO]
        refreshed(cache)
        two.execute(f'ALTER TABLE {lost} RENAME TO moved')
        for _ in range(3):
            table = refreshed(cache)

        assert column(table, 'host') == ['a', 'b']
        assert [uuid for uuid, _ in table.cells.reads] == [ONE]
        assert caplog.text.count(
            f'Failed to get computes for cell {TWO}(two)') == 1
        two.execute(f'ALTER TABLE moved RENAME TO {lost}')
        until(lambda: column(refreshed(cache), 'host') == [*'abc'])

    def test_lost_cell_causes_no_parsing_of_others(self, cells):
        """Neither while it is lost nor when it is back."""
        cache, two = cells.cache(), cells.databases[TWO]
        refreshed(cache)
        parsed = parsed_rows(cache)
        two.execute('ALTER TABLE services RENAME TO moved')
        refreshed(cache)
        refreshed(cache)
        assert not parsed

        two.execute('ALTER TABLE moved RENAME TO services')
        until(lambda: len(refreshed(cache).keys()) == 3)
        assert len(parsed) == 1

    def test_node_in_two_cells_is_that_of_later_cell(self, cells):
        two, cache = cells.databases[TWO], cells.cache()
        two.execute("UPDATE compute_nodes SET host = 'a', vcpus_used = 9, "
                    "hypervisor_hostname = 'a'")

        assert column(refreshed(cache), 'vcpus_used') == [9, 0]
        two.execute('UPDATE compute_nodes SET deleted = id')
        assert column(refreshed(cache), 'vcpus_used') == [0, 0]


class TestWatcher:
    def test_gets_hosts_with_changed_nodes(self, cells):
        watcher, one = Watcher(), cells.databases[ONE]
        cache = cells.cache(watcher)
        cache.refresh()
        assert sorted(map(sorted, watcher.hosts)) == [['a', 'b'], ['c']]

        for sql, hosts in (
                ("UPDATE compute_nodes SET vcpus_used = 1 WHERE host = 'a'",
                 {'a'}),
                ("UPDATE compute_nodes SET deleted = id WHERE host = 'b'",
                 {'b'}),
                ("UPDATE compute_nodes SET host = 'z' WHERE host = 'a'",
                 {'a', 'z'}),
                ("UPDATE compute_nodes SET host = NULL WHERE host = 'z'",
                 {'z'}),
                ('UPDATE services SET report_count = 9', set())):
            watcher.hosts.clear()
            one.execute(sql)
            cache.refresh()
            assert sorted(watcher.hosts, key=len) == [set(), hosts], sql

    def test_gets_hosts_of_requested_instances(self, cells):
        """In any cell; None for an instance without a host."""
        watcher = Watcher(SERVER, OTHER)
        cache = cells.cache(watcher)

        cache.refresh()

        assert watcher.located == [{SERVER: 'c', OTHER: None}]

    def test_determines_result_of_refresh(self, one_cell):
        """Also of a refresh without changes."""
        watcher = Watcher()
        cache = one_cell[1](watcher)

        assert [cache.refresh(), cache.refresh()] == ['rebased 1', 'rebased 2']
        assert (watcher.tables[-1].cells.reads > watcher.tables[0].cells.reads)

    def test_failed_rebase_is_repeated(self, one_cell):
        watcher = Watcher()
        cache = one_cell[1](watcher)
        watcher.rebase, rebase = lambda *_: 1 / 0, watcher.rebase
        with pytest.raises(ZeroDivisionError):
            cache.refresh()
        watcher.rebase = rebase

        cache.refresh()

        assert watcher.hosts == [{'c'}] * 2
        assert watcher.tables[0].size == 1

    def test_gets_rows_and_instances_of_one_moment(self, one_cell):
        """A server built between the two reads is in neither."""
        database, cache = one_cell

        def build():
            database.execute('UPDATE compute_nodes SET vcpus_used = 7')
            database.execute('UPDATE instances SET uuid = ?', OTHER)

        watcher = Watcher(SERVER, OTHER, meanwhile=build)
        cache = cache(watcher)

        cache.refresh()
        watcher._meanwhile = lambda: None
        cache.refresh()

        assert [column(table, 'vcpus_used') for table in watcher.tables] == [
            [0], [7]]
        assert watcher.located == [{SERVER: 'c', OTHER: None},
                                   {SERVER: None, OTHER: 'c'}]

    def test_is_not_called_for_failed_read(self, one_cell):
        database, cache = one_cell
        watcher = Watcher(SERVER)
        database.execute('ALTER TABLE compute_nodes RENAME TO moved')

        with pytest.raises(exception.DatabaseUnavailable):
            cache(watcher).refresh()

        assert watcher.tables == []
