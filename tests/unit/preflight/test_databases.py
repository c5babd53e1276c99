"""The rows about databases, on databases of SQLite."""

import datetime

import pytest

from nova_sched.db import cells
from nova_sched.preflight.databases import Databases
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from tests.builders import clouds
from tests.builders.mapped_cloud import CELL1
from tests.builders.mapped_cloud import CELL2

#: SQLite's way to an absent directory: refused at once.
GONE = 'sqlite:////nowhere/at-all.sqlite'


def rows(conf, check=None):
    """The rows of a check, or all: list."""
    return [row for row in Databases(conf).rows()
            if check is None or row.check == check]


@pytest.fixture
def cloud_of_three(mapped_cloud):
    """A MappedCloud whose hosts a, b and c are mapped to their cells."""
    for host, cell in (('a', CELL1), ('b', CELL1), ('c', CELL2)):
        mapped_cloud.api.execute(
            'INSERT INTO host_mappings (host, cell_id) SELECT ?, id FROM '
            'cell_mappings WHERE uuid = ?', host, cell)
    return mapped_cloud


def test_a_cloud_that_is_well_has_only_good_rows(cloud_of_three):
    found = rows(cloud_of_three.conf())

    assert [(row.check, row.outcome) for row in found] == [
        ('API database', OK), ('database', OK),
        (f'cell {CELL1}(one)', OK), (f'cell {CELL2}(two)', OK)]
    assert '3 cell mappings, 3 host mappings, 0 aggregates' in found[0].found
    assert 'the database of cell cell0' in found[1].found
    assert '2 compute nodes, 2 compute services' in found[2].found
    assert ', 2 up, 0 disabled, 0 down' in found[2].found


def test_one_database_is_all_there_is_in_old_clouds(cloud):
    cloud.load(2)
    found = rows(cloud.conf())

    assert [(row.check, row.outcome) for row in found] == [
        ('API database', OK), ('database', OK), ('hosts', OK)]
    assert 'is not set' in found[0].found
    assert 'the only one' in found[1].found


def test_two_that_are_swapped_are_called_that(mapped_cloud):
    mapped_cloud.api.execute('DROP TABLE compute_nodes')
    mapped_cloud.cell0.execute('DROP TABLE cell_mappings')
    row, = rows(mapped_cloud.conf(
        database__connection=mapped_cloud.api.url,
        api_database__connection=mapped_cloud.cell0.url))

    assert (row.check, row.outcome) == ('database', ERROR)
    assert 'are swapped' in row.found
    assert all('are swapped' not in row.found
               for row in rows(mapped_cloud.conf()))


def test_a_cell_that_does_not_answer_hides_no_other(cloud_of_three):
    cloud_of_three.change(CELL1, database_connection=GONE)
    lost, well = rows(cloud_of_three.conf())[-2:]

    assert (lost.outcome, well.outcome) == (ERROR, OK)
    assert 'there is no such file' in lost.found
    assert 'nova-manage cell_v2 list_cells' in lost.advice


def test_without_the_api_database_the_other_is_still_looked_at(
        cloud_of_three):
    found = {row.check: row for row in rows(cloud_of_three.conf(
        api_database__connection=GONE))}

    assert {check: row.outcome for check, row in found.items()} == {
        'API database': ERROR, 'database': OK, 'cells': ERROR}
    assert '[api_database] connection' in found['API database'].advice
    assert 'whose is unknown' in found['database'].found


def test_without_database_the_cells_are_still_looked_at(cloud_of_three):
    found = rows(cloud_of_three.conf(database__connection=GONE))

    assert [row.outcome for row in found] == [OK, ERROR, OK, OK]


def test_a_url_that_cannot_be_used_is_a_row_and_keeps_its_password(
        cloud_of_three):
    cloud_of_three.change(
        CELL1, database_connection='{schema}://u:open-sesame@h/d')
    row, = rows(cloud_of_three.conf(), 'cell one')

    assert row.outcome == ERROR
    assert 'it may name only {scheme}' in row.found
    assert 'open-sesame' not in str(row)


def test_hosts_of_no_cell_are_named(mapped_cloud):
    row, = [row for row in rows(mapped_cloud.conf(), f'cell {CELL1}(one)')
            if row.outcome != OK]

    assert row.outcome == WARNING
    assert row.found == '2 hosts that are not mapped to a cell: a, b'
    assert 'compute_nodes.mapped is 1' in row.advice
    assert 'discover_hosts' in row.advice


def test_hosts_of_another_cell_are_named(cloud_of_three):
    cloud_of_three.api.execute(
        'UPDATE host_mappings SET cell_id = (SELECT id FROM cell_mappings '
        'WHERE uuid = ?) WHERE host = ?', CELL2, 'a')
    row, = [row for row in rows(cloud_of_three.conf(),
                                f'cell {CELL1}(one)') if row.outcome != OK]

    assert row.outcome == ERROR
    assert row.found == '1 hosts that are mapped to another cell: a'


def test_a_disabled_cell_is_said_to_be(cloud_of_three):
    cloud_of_three.change(CELL2, disabled=True)
    row, = rows(cloud_of_three.conf(), f'cell {CELL2}(two)')

    assert row.outcome == OK
    assert 'the cell is disabled' in row.found


def test_services_are_counted_by_state(cloud_of_three):
    cloud_of_three.one.execute(
        'UPDATE services SET disabled = 1 WHERE host = ?', 'a')
    cloud_of_three.one.execute(
        'UPDATE services SET forced_down = 1 WHERE host = ?', 'b')
    row, = rows(cloud_of_three.conf(), f'cell {CELL1}(one)')

    assert '0 up, 1 disabled, 1 down' in row.found
    assert row.outcome == WARNING
    assert 'No host is up' in row.advice


def test_nodes_without_a_service_are_named(cloud_of_three):
    cloud_of_three.two.execute('DELETE FROM services')
    found = rows(cloud_of_three.conf(), f'cell {CELL2}(two)')

    assert ('1 hosts with compute nodes but no compute service: c'
            in [row.found for row in found])


def test_no_cell_is_mapped_but_may_be_meant_to_be(cloud):
    row = rows(cloud.conf(api_database__connection=cloud.url))[0]

    assert (row.check, row.outcome) == ('API database', WARNING)
    assert 'No cell is mapped' in row.advice


@pytest.mark.parametrize('host, advice', [
    ('elsewhere', 'It takes part of the requests'),
    ('this-one', 'set [DEFAULT] host')])
def test_a_scheduler_that_is_up_is_told(cloud_of_three, host, advice):
    now = datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%d %H:%M:%S')
    for name, seen in ((host, now), ('long-gone', '2020-01-01 00:00:00')):
        cloud_of_three.cell0.execute(
            'INSERT INTO services (host, binary, topic, report_count, '
            'disabled, version, created_at, last_seen_up, deleted) '
            "VALUES (?, 'nova-scheduler', 'scheduler', 1, 0, 30, ?, ?, 0)",
            name, seen, seen)
    row, = rows(cloud_of_three.conf(DEFAULT__host='this-one'),
                'other schedulers')

    assert row.outcome == WARNING
    assert row.found == (f'a scheduler is up on host {host}, of version 30 '
                         '(17.0.0 (Queens))')
    assert advice in row.advice


def test_the_compute_nodes_of_cells_that_answer_are_known(cloud_of_three):
    cloud_of_three.change(CELL1, database_connection=GONE)
    databases = Databases(cloud_of_three.conf())

    nodes = [node for found in databases.computes() for node in found.nodes]
    assert [name for name, _uuid in nodes] == ['c']


def test_a_loaded_cloud_has_cells_without_databases(cloud):
    """Then [database] has the hosts of all."""
    cloud.load(2, cells=[{'uuid': clouds.CELL_UUID, 'name': 'one'}])
    found = rows(cloud.conf(api_database__connection=cloud.url))

    assert [row.check for row in found] == ['API database', 'database',
                                            'hosts']
    assert cells.SINGLE_CELL_UUID not in str(found[2])
