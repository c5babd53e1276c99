"""Export of a cloud with several cells to one file."""

import contextlib
import json

import pytest

from nova_sched import exception
from nova_sched.cloud import export as cloud_export
from tests.builders import clouds
from tests.builders.cloud_database import CloudDatabase
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.mapped_cloud import CELL1
from tests.builders.mapped_cloud import CELL2
from tests.builders.requests import a_request


@pytest.fixture
def cloud(mapped_cloud):
    """Cells with the hosts a and b, and c with an instance."""
    mapped_cloud.two.load(['c'], host_mappings=[], instances=[
        clouds.an_instance('c')])
    mapped_cloud.two.execute('UPDATE services SET deleted = id')
    mapped_cloud.two.execute(
        'INSERT INTO services (host, binary, topic, report_count, deleted) '
        "VALUES ('c', 'nova-compute', 'compute', 1, 0)")
    mapped_cloud.api.execute("INSERT INTO aggregates (id, uuid, name) "
                             "VALUES (3, ?, 'fast')", clouds.a_uuid())
    mapped_cloud.api.execute('INSERT INTO aggregate_hosts '
                             "(aggregate_id, host) VALUES (3, 'c')")
    return mapped_cloud


@pytest.fixture
def loaded(cloud, tables_file, tmp_path):
    """The export of it in one database."""
    (tmp_path / 'loaded').mkdir()
    database = CloudDatabase(tables_file, tmp_path / 'loaded')
    text = json.dumps(cloud_export.export(cloud.conf()))
    database.load(0, **json.loads(text))
    yield database
    database.close()


def test_the_export_has_the_rows_of_all_cells(cloud):
    found = cloud_export.export(cloud.conf())

    assert [row['host'] for row in found['compute_nodes']] == [*'abc']
    assert [row['host'] for row in found['instances']] == ['c']
    assert len({row['id'] for row in found['services']}) == 4
    assert [aggregate['hosts'] for aggregate in found['aggregates']] == [['c']]


def test_the_export_has_the_cell_of_each_host(cloud):
    found = cloud_export.export(cloud.conf())

    assert {row['host']: row['cell_uuid']
            for row in found['host_mappings']} == {
        'a': CELL1, 'b': CELL1, 'c': CELL2}


def test_the_export_has_no_connections(cloud):
    cloud.api.execute('UPDATE cell_mappings SET transport_url = ?',
                      'rabbit://nova:secret@mq/')

    text = json.dumps(cloud_export.export(cloud.conf()))

    assert 'secret' not in text
    assert 'sqlite' not in text


@pytest.mark.parametrize('readable', [True, False])
def test_all_connections_are_closed(cloud, opened, readable):
    if not readable:
        cloud.two.execute('DROP TABLE services')
    conf, before = cloud.conf(), opened()

    with contextlib.suppress(exception.DatabaseUnavailable):
        cloud_export.export(conf)

    assert opened() == before


def test_the_loaded_export_has_the_same_decisions(cloud, loaded):
    there, here = cloud.driver(), loaded.driver()
    for spec in (a_request(), a_request(num_instances=2)):
        assert picks(there, spec) == picks(here, spec)
    assert {chosen[0].cell_uuid for chosen
            in select(here, a_request(num_instances=2))} <= {CELL1, CELL2}


def test_disabled_cells_stay_disabled(cloud, tables_file, tmp_path):
    cloud.change(CELL1, disabled=1)
    (tmp_path / 'loaded').mkdir()
    database = CloudDatabase(tables_file, tmp_path / 'loaded')
    database.load(0, **cloud_export.export(cloud.conf()))

    driver = database.driver()
    with pytest.raises(exception.NoValidHost, match=r'2 cell\b'):
        picks(driver, a_request(num_instances=2))
    database.close()


def test_an_export_has_no_timeout(cloud, monkeypatch):
    read, seen = cloud_export._read, []

    def noted(database, read_tables):
        found = read(database, read_tables)
        seen.append(database.timeout)
        return found

    monkeypatch.setattr(cloud_export, '_read', noted)
    cloud_export.export(cloud.conf())

    assert seen == [None] * 3


def test_an_error_names_the_unreadable_cell(cloud):
    cloud.two.execute('DROP TABLE services')

    with pytest.raises(exception.DatabaseUnavailable,
                       match=rf'Cell {CELL2}\(two\) cannot be exported'):
        cloud_export.export(cloud.conf())


class TestAHostInTwoCells:
    @pytest.fixture(autouse=True)
    def twice(self, cloud):
        cloud.two.load(['a', 'c'], host_mappings=[])

    def where(self, cloud):
        found = cloud_export.export(cloud.conf())
        assert sorted(row['host'] for row in found['compute_nodes']) == [
            *'abc']
        assert len(found['host_mappings']) == 3
        return {row['host']: row['cell_uuid']
                for row in found['host_mappings']}['a']

    def test_is_in_the_last_cell(self, cloud):
        assert self.where(cloud) == CELL2

    def test_is_in_the_enabled_cell(self, cloud):
        cloud.change(CELL2, disabled=1)

        assert self.where(cloud) == CELL1

    def test_can_be_loaded(self, cloud, loaded):
        assert picks(loaded.driver(), a_request(force_hosts=['a'])) == ['a']


def test_soft_deleted_parts_of_aggregates_and_groups_are_left_out(cloud):
    """Mitaka soft-deletes these rows."""
    uuid, tables = clouds.a_uuid(), (
        'aggregates', 'instance_groups', 'aggregate_hosts',
        'aggregate_metadata', 'instance_group_policy',
        'instance_group_member')
    for statement in (
            'INSERT INTO aggregate_metadata (aggregate_id, key, value) '
            "VALUES (3, 'k', 'v')",
            'INSERT INTO instance_groups (id, uuid, name) '
            f"VALUES (5, '{uuid}', 'g')",
            'INSERT INTO instance_group_policy (group_id, policy) '
            "VALUES (5, 'affinity')",
            'INSERT INTO instance_group_member (group_id, instance_uuid) '
            f"VALUES (5, '{uuid}')",
            *(f'ALTER TABLE {table} ADD COLUMN deleted INTEGER DEFAULT 0'
              for table in tables)):
        cloud.api.execute(statement)

    def exported():
        found = cloud_export.export(cloud.conf())
        aggregates, groups = found['aggregates'], found['instance_groups']
        return [*({'hosts': each['hosts'], 'metadata': each['metadata']}
                  for each in aggregates),
                *({'policies': each['policies'], 'policy': each['policy'],
                   'members': each['members']} for each in groups)]

    aggregate, group = exported()
    assert (aggregate, group) == (
        {'hosts': ['c'], 'metadata': {'k': 'v'}},
        {'policies': ['affinity'], 'policy': 'affinity', 'members': [uuid]})
    for several, left in (
            (tables[2:], [{'hosts': [], 'metadata': {}},
                          {'policies': [], 'policy': None, 'members': []}]),
            (tables[:2], [])):
        for table in several:
            cloud.api.execute(f'UPDATE {table} SET deleted = id')
        assert exported() == left
