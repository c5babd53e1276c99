"""Reading of aggregates and host mappings, and the stamp of their changes."""

import pathlib
import threading
import tomllib

import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import schema
from nova_sched.db.api_reader import ApiReader
from nova_sched.db.cell_reader import CellReader
from tests.builders import clouds
from tests.builders.services import wait_for

STAMPED = ('aggregates', 'aggregate_hosts', 'aggregate_metadata',
           'host_mappings', 'cell_mappings')
LONG_AGO = '2020-01-01 00:00:00.000000'


@pytest.fixture
def settled(load, execute):
    """Two aggregates that were changed long ago."""
    load(aggregates=[
        clouds.an_aggregate(1, hosts=['host1', 'host2'],
                            metadata={'availability_zone': 'az1'}),
        clouds.an_aggregate(2, hosts=['host2'], metadata={'ssd': 'true'})])
    for table in STAMPED:
        execute(f"UPDATE {table} SET created_at = '{LONG_AGO}'")


class TestAggregates:
    def test_aggregates_have_hosts_and_metadata(self, settled, hosts):
        one, two = hosts.aggregates()
        assert {'id', 'uuid', 'name', 'hosts', 'metadata'} == set(one)
        assert one['hosts'] == ['host1', 'host2']
        assert one['metadata'] == {'availability_zone': 'az1'}
        assert (two['id'], two['name']) == (2, 'aggregate2')

    @pytest.mark.parametrize(('gone', 'back'), [
        ('ALTER TABLE aggregate_hosts RENAME TO away',
         'ALTER TABLE away RENAME TO aggregate_hosts'),
        ('ALTER TABLE aggregates RENAME COLUMN name TO away',
         'ALTER TABLE aggregates RENAME COLUMN away TO name')])
    def test_database_without_a_part_is_unavailable(
            self, settled, hosts, execute, gone, back):
        """Callers receive this type of error; the database recovers."""
        assert hosts.aggregates()
        execute(gone)
        with pytest.raises(exception.DatabaseUnavailable) as unavailable:
            hosts.aggregates()
        assert unavailable.type is exception.DatabaseUnavailable

        execute(back)
        assert hosts.aggregates()

    def test_aggregate_may_be_empty(self, load, hosts):
        load(aggregates=[clouds.an_aggregate(hosts=[])])
        aggregate, = hosts.aggregates()
        assert (aggregate['hosts'], aggregate['metadata']) == ([], {})

    def test_aggregates_of_kilo_have_no_uuid_and_soft_deleted_rows(
            self, settled, hosts, execute):
        execute('DROP INDEX aggregate_uuid_idx')
        execute('ALTER TABLE aggregates DROP COLUMN uuid')
        for table in ('aggregates', 'aggregate_hosts', 'aggregate_metadata'):
            execute(f'ALTER TABLE {table} ADD COLUMN deleted INTEGER '
                    f'DEFAULT 0')
        before = hosts.api_stamp()
        execute("UPDATE aggregate_hosts SET deleted = id "
                "WHERE host = 'host1'")
        assert before != hosts.api_stamp()
        execute('UPDATE aggregates SET deleted = 2 WHERE id = 2')
        aggregate, = hosts.aggregates()
        assert aggregate['uuid'] is None
        assert aggregate['hosts'] == ['host2']

    def test_api_database_is_preferred(self, conf, settled, tmp_path):
        url = f'sqlite:///{tmp_path}/schema.sqlite'
        schema.sync_database(engine.Database(url))
        conf.set_override('connection', url, 'api_database')
        hosts = reader.HostReader(conf)
        assert hosts.aggregates() == []


#: Name of a change -> its statements.
CHANGES = tomllib.loads(pathlib.Path(__file__).parents[2].joinpath(
    'data', 'api-database-changes.toml').read_text())


@pytest.mark.parametrize(('cls', 'method', 'args'), [
    (ApiReader, 'aggregates', ()),
    (CellReader, 'find_nodes', ('host1', None))])
def test_closed_reader_stops_probing(
        conf, settled, monkeypatch, cls, method, args):
    monkeypatch.setattr(remote, 'PROBE_INTERVAL', 0.02)
    conf.set_override('cell_timeout', 1, 'nova_sched')
    before, awake = set(threading.enumerate()), threading.Event()
    hosts = reader.HostReader(conf)
    for name in (method, 'probe'):
        monkeypatch.setattr(cls, name, lambda *_: awake.wait(20))
    with pytest.raises(exception.DatabaseUnavailable):
        getattr(hosts, method)(*args)

    def probes():
        return [thread for thread in threading.enumerate()
                if thread.name.startswith('probe') and thread not in before]

    assert probes()
    hosts.close()
    awake.set()

    wait_for(lambda: not probes())


class TestStamp:
    def test_stamp_is_equal_without_aggregates(self, load, hosts, execute):
        load()
        for table in ('host_mappings', 'cell_mappings'):
            execute(f"UPDATE {table} SET created_at = '{LONG_AGO}'")
        assert hosts.api_stamp() == hosts.api_stamp()

    @pytest.mark.parametrize('change', CHANGES.values(), ids=CHANGES.keys())
    def test_stamp_changes(self, settled, hosts, execute, change):
        before = hosts.api_stamp()
        assert before == hosts.api_stamp()
        for sql in change.format(then='2020-01-02 00:00:00.000000',
                                 long_ago=LONG_AGO).split(';'):
            execute(sql)
        assert before != hosts.api_stamp()

    def test_stamp_of_current_second_equals_none(
            self, settled, hosts, execute):
        """It would not show a second change within the same second."""
        execute("UPDATE aggregates SET updated_at = "
                "strftime('%Y-%m-%d %H:%M:%S.000000', 'now')")
        assert hosts.api_stamp() != hosts.api_stamp()

    def test_stamp_with_invalid_times_shows_a_deletion(
            self, settled, hosts, execute):
        execute("UPDATE aggregates SET created_at = 'junk', "
                "updated_at = '0000-00-00 00:00:00'")
        before = hosts.api_stamp()
        assert before == hosts.api_stamp()
        execute('DELETE FROM aggregates WHERE id = 2')
        assert before != hosts.api_stamp()


class TestHostCells:
    @pytest.mark.parametrize('missing', [
        None, 'host_mappings', 'cell_mappings'])
    def test_hosts_are_mapped_to_cells(self, load, hosts, execute, missing):
        """Without the tables, to none."""
        load(hosts=1)
        if missing:
            execute(f'DROP TABLE {missing}')
        assert hosts.host_cells() == (
            {} if missing else {'host1': clouds.CELL_UUID})
