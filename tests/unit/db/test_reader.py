"""Reading of hosts and instances, in the schema of any release."""

import datetime
import logging
import time
import types

import pytest

from nova_sched import exception
from nova_sched.cloud import file as cloud_file
from nova_sched.db import cell_reader
from nova_sched.db import cells
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import schema
from nova_sched.db.changed_rows import KnownRows
from tests.builders import clouds
from tests.builders.cloud_database import cell_rows


def as_dicts(rows, columns):
    return [dict(zip(columns, row, strict=True)) for row in rows]


def nodes_of(rows):
    return as_dicts(rows.compute_nodes, reader.COMPUTE_NODE_COLUMNS)


def services_of(rows):
    return as_dicts(rows.services, reader.SERVICE_COLUMNS)


class TestConfiguredCells:
    def test_single_cell_has_no_name_and_is_not_cell0(self, conf):
        cell, = reader.HostReader(conf).cells
        assert cell.name is None
        assert cell.uuid == '00000000-0000-0000-0000-000000000001'

    def test_cell_does_not_show_its_password(self):
        cell = cells.Cell('u', 'east', 'mysql://u:secret@h/d')
        assert 'secret' not in repr(cell) + str(cell)


class TestRows:
    def test_rows_are_plain_tuples(self, load, hosts):
        load(hosts=2)
        rows, = cell_rows(hosts)
        assert {tuple} == {type(row) for row in rows.compute_nodes}
        assert [n['host'] for n in nodes_of(rows)] == ['host1', 'host2']
        assert {32768} == {n['memory_mb'] for n in nodes_of(rows)}
        assert [s['host'] for s in services_of(rows)] == ['host1', 'host2']

    @pytest.mark.parametrize(('text', 'time'), [
        ('2026-04-03T09:40:41', datetime.datetime(2026, 4, 3, 9, 40, 41)),
        ('2026-04-03 09:40:41+02:00',
         datetime.datetime(2026, 4, 3, 7, 40, 41))])
    def test_times_are_datetimes_in_utc_or_none(
            self, load, hosts, execute, text, time):
        load(services=[clouds.a_service(updated_at=None)])
        execute(f"UPDATE services SET last_seen_up = '{text}'")
        service, = services_of(cell_rows(hosts)[0])
        assert service['last_seen_up'] == time
        assert service['updated_at'] is None

    @pytest.mark.parametrize('column', [
        'last_seen_up', 'updated_at', 'created_at'])
    @pytest.mark.parametrize('text', [
        '0000-00-00 00:00:00', 'junk', '', '2026-13-01 00:00:00', '20260403'])
    def test_invalid_time_is_none(self, load, hosts, execute, column, text):
        load(hosts=2)
        execute(f"UPDATE services SET {column} = '{text}' WHERE id = 1")
        execute(f"UPDATE compute_nodes SET updated_at = '{text}' "
                'WHERE id = 1')
        rows, = cell_rows(hosts)
        assert [service[column] is None for service in services_of(rows)] == (
            [True, False])
        assert [node['updated_at'] is None for node in nodes_of(rows)] == (
            [True, False])

    def test_one_warning_for_an_invalid_time(
            self, load, hosts, execute, caplog):
        """For all rows and reads."""
        load(hosts=3)
        execute("UPDATE services SET last_seen_up = 'no time at all'")
        for _ in range(2):
            cell_rows(hosts)
        text, = [text for text in caplog.messages if 'no time at all' in text]
        assert 'counts as absent' in text

    def test_nulls_are_kept(self, load, hosts):
        load(compute_nodes=[clouds.a_compute_node(
            free_disk_gb=None, cpu_allocation_ratio=None, stats=None)])
        node, = nodes_of(cell_rows(hosts)[0])
        assert [node[name] for name in (
            'free_disk_gb', 'cpu_allocation_ratio', 'stats')] == [None] * 3

    def test_deleted_rows_and_other_services_are_left_out(self, load, hosts):
        """Disabled services are read."""
        load(hosts=1,
             compute_nodes=[clouds.a_compute_node(id=5, deleted=5)],
             services=[clouds.a_service(id=5, deleted=5),
                       clouds.a_service('b', disabled=True),
                       clouds.a_service('c', binary='nova-scheduler',
                                        topic='scheduler')])
        rows, = cell_rows(hosts)
        assert rows.compute_nodes == []
        service, = services_of(rows)
        assert (service['host'], bool(service['disabled'])) == ('b', True)

    def test_only_the_given_columns_are_read(self, conf, load):
        load(hosts=1)
        narrow = reader.HostReader(conf,
                                   compute_node_columns=('host', 'vcpus'))
        assert cell_rows(narrow)[0].compute_nodes == [('host1', 16)]

    def test_error_names_missing_table(self, hosts, execute):
        execute('DROP TABLE compute_nodes')
        assert cell_rows(hosts) == []
        [why] = hosts.unavailable_cells().values()
        assert 'no table compute_nodes' in why

    @pytest.mark.parametrize('column', [
        'host', 'hypervisor_hostname', 'vcpus', 'memory_mb', 'local_gb',
        'vcpus_used', 'local_gb_used', 'free_disk_gb', 'free_ram_mb'])
    def test_error_names_missing_required_column(
            self, load, hosts, execute, column):
        """Without the column no row would be a valid host."""
        load(hosts=1)
        assert nodes_of(cell_rows(hosts)[0])
        execute(f'ALTER TABLE compute_nodes RENAME COLUMN {column} TO away')
        for _ in range(2):
            assert cell_rows(hosts) == []
            [why] = hosts.unavailable_cells().values()
            assert f'its table compute_nodes has no column {column}' in why

        execute(f'ALTER TABLE compute_nodes RENAME COLUMN away TO {column}')
        node, = nodes_of(cell_rows(hosts)[0])
        assert node[column] is not None

    def test_restored_column_is_read_after_some_time(
            self, load, hosts, execute, monkeypatch):
        def metrics():
            return nodes_of(cell_rows(hosts)[0])[0]['metrics']
        load(compute_nodes=[clouds.a_compute_node('host1', metrics='[]')])
        assert metrics() == '[]'
        execute('ALTER TABLE compute_nodes RENAME COLUMN metrics TO away')
        assert metrics() is None
        execute('ALTER TABLE compute_nodes RENAME COLUMN away TO metrics')
        assert metrics() is None

        later = time.monotonic() + cell_reader.LOOK_AGAIN + 1
        monkeypatch.setattr(cell_reader.time, 'monotonic', lambda: later)
        assert metrics() == '[]'

    def test_schema_is_inspected_again_after_a_missing_table(
            self, conf, tmp_path):
        conf.set_override('connection', f'sqlite:///{tmp_path}/late.sqlite',
                          'database')
        late = reader.HostReader(conf)
        assert cell_rows(late) == []
        schema.sync(conf)
        assert cell_rows(late)[0].compute_nodes == []


class TestSeveralCells:
    @pytest.fixture
    def cell(self, tmp_path):
        """Function: return a cell with one host in a new database."""
        def cell(name):
            url = f'sqlite:///{tmp_path}/{name}.sqlite'
            db = engine.Database(url)
            schema.sync_database(db)
            cloud_file.load(db.engine, clouds.a_cloud(
                hosts=[name], instances=[clouds.an_instance(
                    name, uuid=clouds.a_uuid(len(name)))]))
            return cells.Cell(clouds.a_uuid(), name, url)
        return cell

    def test_all_cells_are_read(self, conf, cell):
        both = reader.HostReader(conf, [cell('east'), cell('north')])
        names = [nodes_of(rows)[0]['host'] for rows in cell_rows(both)]
        assert names == ['east', 'north']
        assert {clouds.a_uuid(4): 'east', clouds.a_uuid(5): 'north'} == (
            both.locate_instances([clouds.a_uuid(4), clouds.a_uuid(5)]))
        assert {'east', 'north'} == {
            i['host'] for i in both.instances_on(['east', 'north'])}

    def test_failing_cell_is_left_out_with_a_warning(self, conf, cell, caplog):
        east = cell('east')
        gone = cells.Cell(clouds.a_uuid(), 'gone',
                           'mysql://u:secret@127.0.0.1:1/d')
        caplog.set_level(logging.WARNING)
        both = reader.HostReader(conf, [gone, east])
        rows, = cell_rows(both)
        both.close()
        assert east == rows.cell
        text, = [record.getMessage() for record in caplog.records]
        assert text.startswith(
            f'Failed to get computes for cell {gone.uuid}(gone)')
        assert 'secret' not in caplog.text

    def test_no_cells_have_no_hosts(self, conf):
        assert cell_rows(reader.HostReader(conf, [])) == []


def test_transaction_does_not_see_later_commits(load, hosts, execute):
    server = clouds.an_instance('host1')
    load(hosts=1, instances=[server])

    def read(cell):
        with cell.db.reading() as connection:
            before = cell.changes(connection, KnownRows(), KnownRows(), 0)
            execute("UPDATE instances SET host = 'host2'")
            execute('UPDATE compute_nodes SET vcpus_used = 9')
            after = cell.changes(connection, KnownRows(), KnownRows(), 0)
            return (after[0].rows == before[0].rows,
                    cell.hosts_of(connection, [server['uuid'], 'nobody']))

    answer, = hosts.for_each_cell(read).values()
    assert answer == (True, {server['uuid']: 'host1'})
    assert hosts.locate_instances([server['uuid']]) == {
        server['uuid']: 'host2'}
    node, = nodes_of(cell_rows(hosts)[0])
    assert node['vcpus_used'] == 9

class TestInstances:
    @pytest.fixture
    def servers(self, load):
        servers = types.SimpleNamespace(
            one=clouds.an_instance('host1'),
            errored=clouds.an_instance('host2', vm_state='error'),
            shelved=clouds.an_instance(None),
            deleted=clouds.an_instance('host1', deleted=4))
        load(hosts=2, instances=list(vars(servers).values()))
        return servers

    def test_instances_are_located_by_uuid(self, servers, hosts):
        uuids = [server['uuid'] for server in vars(servers).values()]
        assert {servers.one['uuid']: 'host1',
                servers.errored['uuid']: 'host2'} == (
            hosts.locate_instances([*uuids, 'nobody']))

    def test_instances_of_hosts_are_listed_in_any_state(self, servers, hosts):
        rows = hosts.instances_on(['host1', 'host2'])
        assert [servers.one['uuid'], servers.errored['uuid']] == [
            row['uuid'] for row in rows]
        assert set(cell_reader.INSTANCE_COLUMNS) == set(rows[0])
        assert rows[0]['memory_mb'] == 2048

    def test_equal_rows_are_listed_once(self, load, hosts):
        load(hosts=2, instances=[
            clouds.an_instance('host1', instance_type_id=flavor)
            for flavor in (5, 5, 6)] + [clouds.an_instance('host2')])

        rows = hosts.instances_on(['host1'], ('host', 'instance_type_id'))

        assert sorted(row['instance_type_id'] for row in rows) == [5, 6]
        assert {row['host'] for row in rows} == {'host1'}

    def test_many_names_are_read_in_several_statements(self, servers, hosts):
        names = [f'none{n}' for n in range(1200)]
        assert len(hosts.instances_on([*names, 'host1'])) == 1
        assert len(hosts.locate_instances({*names, servers.one['uuid']})) == 1

    def test_nothing_is_read_without_names(self, hosts):
        assert (hosts.locate_instances([]), hosts.instances_on([])) == ({}, [])
        assert hosts.image_properties([], ['os_type']) == []


class TestSingleDatabase:
    """Without an answer each method raises an error."""

    @pytest.fixture(params=['refuses', 'hangs'])
    def silent(self, request, load, hosts, execute):
        """A HostReader of a database that does not answer."""
        load(hosts=1, instances=[clouds.an_instance('host1')])
        execute('ALTER TABLE compute_nodes RENAME TO nodes')
        execute('ALTER TABLE instances RENAME TO servers')
        assert hosts.for_each_cell(cell_reader.CellReader.find_nodes,
                                   None, None) == {}
        [cell] = hosts._readers.values()
        assert cell.guard.down_reason
        cell.guard.hangs = request.param == 'hangs'
        return hosts

    @pytest.mark.parametrize(('method', 'args', 'reason'), [
        ('find_nodes', ('host1', None), 'compute_nodes'),
        ('locate_instances', (['u'],), 'cannot be looked up'),
        ('instances_on', (['host1'],), 'cannot be read')])
    def test_database_is_unavailable(self, silent, method, args, reason):
        with pytest.raises(exception.DatabaseUnavailable, match=reason):
            getattr(silent, method)(*args)


class TestImageProperties:
    @pytest.fixture
    def servers(self, load):
        """Function: create an instance with system metadata on host1."""
        def servers(*keys, **columns):
            server = clouds.an_instance('host1', **columns)
            load(hosts=1, instances=[server], instance_system_metadata=[
                {'instance_uuid': server['uuid'], 'key': key,
                 'value': f'its {key}'} for key in keys])
            return server['uuid']
        return servers

    def test_named_properties_are_read(self, servers, hosts):
        uuid = servers('image_os_type', 'image_os_distro', 'os_type',
                       'image_trait:A', 'image_trait:B', 'image_traits')
        names = [f'none{n}' for n in range(1200)]
        assert hosts.image_properties(
            [*names, 'host1'], ['os_type', 'trait:*']) == [
            ('host1', uuid, 'os_type', 'its image_os_type'),
            ('host1', uuid, 'trait:A', 'its image_trait:A'),
            ('host1', uuid, 'trait:B', 'its image_trait:B')]
        assert hosts.image_properties(['host2'], ['os_type']) == []

    def test_names_are_no_sql_patterns(self, servers, hosts):
        servers('image_os_type', 'image_osXtype')
        assert hosts.image_properties(['host1'], ['os%', 'os_t%*']) == []
        assert len(hosts.image_properties(['host1'], ['os_*'])) == 1

    @pytest.mark.parametrize('sql', [
        'UPDATE instances SET deleted = id',
        'UPDATE instance_system_metadata SET deleted = id',
        'UPDATE instance_system_metadata SET value = NULL'])
    def test_deleted_and_null_properties_are_left_out(
            self, servers, hosts, execute, sql):
        servers('image_os_type')
        execute(sql)
        assert hosts.image_properties(['host1'], ['os_type']) == []
