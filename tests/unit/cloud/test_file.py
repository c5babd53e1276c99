"""Loading a cloud's JSON into a database, and exporting it."""

import copy
import datetime
import json
import pathlib

import pytest

from nova_sched.cloud import export as cloud_export
from nova_sched.cloud import file as cloud_file
from tests.builders import clouds

FILES = sorted(
    (pathlib.Path(__file__).parents[2] / 'data' / 'clouds').glob('*.json'))
LISTS = ('compute_nodes', 'services', 'instances', 'aggregates',
         'instance_system_metadata', 'instance_groups', 'cells',
         'host_mappings')


class TestRoundTrip:
    @pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
    @pytest.mark.parametrize('name', LISTS)
    def test_returns_every_row(self, db, path, name, conf):
        cloud = json.loads(path.read_text())
        cloud_file.load(db.engine, copy.deepcopy(cloud))
        exported = cloud_export.export(conf)[name]
        for given, found in zip(by_id(cloud[name]), exported, strict=True):
            assert given == {key: found[key] for key in given}

    def test_an_export_can_be_loaded_again(self, db, conf):
        group = clouds.a_group(members=[clouds.a_uuid()],
                               rules={'max_server_per_host': 2})
        cloud_file.load(db.engine, clouds.a_cloud(
            aggregates=[clouds.an_aggregate(metadata={'ssd': 'true'})],
            instance_groups=[group], instances=[clouds.an_instance()]))
        first = cloud_export.export(conf)
        json.dumps(first)
        cloud_file.load(db.engine, first)
        assert {**first, 'now': ''} == {**cloud_export.export(conf), 'now': ''}


def by_id(rows):
    """In the order of an export; cells and mappings have no id."""
    return sorted(rows, key=lambda row: row.get('id', 0))


class TestLoad:
    def test_replaces_the_previous_cloud(self, load, db, conf):
        load(hosts=3, aggregates=[clouds.an_aggregate()],
             instances=[clouds.an_instance()])
        load(hosts=['other'])
        cloud = cloud_export.export(conf)
        assert [n['host'] for n in cloud['compute_nodes']] == ['other']
        assert cloud['aggregates'] + cloud['instances'] == []

    def test_keeps_the_times_of_the_file_unless_asked(self, load, db, conf):
        load(hosts=1)
        service, = cloud_export.export(conf)['services']
        assert service['last_seen_up'] == clouds.NOW

    def test_shifts_all_times_so_that_ages_stay_the_same(self, db, conf):
        cloud = clouds.a_cloud(
            now='2026-01-01T00:01:00',
            compute_nodes=[clouds.a_compute_node(
                updated_at=None, created_at='2025-12-31T00:01:00')],
            services=[clouds.a_service(last_seen_up='2026-01-01T00:00:30')])
        cloud_file.load(db.engine, cloud, shift=True,
                      now=datetime.datetime(2030, 5, 5, 12, 0, 0))
        shifted = cloud_export.export(conf)
        assert shifted['services'][0]['last_seen_up'] == '2030-05-05T11:59:30'
        node, = shifted['compute_nodes']
        assert node['created_at'] == '2030-05-04T12:00:00'
        assert node['updated_at'] is None

    def test_ignores_unknown_columns(self, load):
        load(instances=[clouds.an_instance(launched_on='host7')])

    @pytest.mark.parametrize('cloud, words', [
        ([], 'this is a list'),
        ({}, 'it has no "compute_nodes"'),
        (clouds.a_cloud(services={}), '"services" of the cloud'),
        (clouds.a_cloud(now='yesterday'), "now = 'yesterday'"),
        (clouds.a_cloud(compute_nodes=[{'host': 'x'}]),
         'compute_nodes row 1 has no "vcpus"'),
        (clouds.a_cloud(services=[clouds.a_service(updated_at=12)]),
         'services row 1 updated_at = 12'),
        (clouds.a_cloud(aggregates=[{'id': 1}]), "lacks or mistypes 'name'"),
        (clouds.a_cloud(host_mappings=[{'host': 'h', 'cell_uuid': 'u'}]),
         "lacks or mistypes 'u'"),
        (clouds.a_cloud(services=[clouds.a_service(),
                                  clouds.a_service()]), 'cannot be stored'),
    ])
    def test_a_malformed_cloud_is_refused(self, db, cloud, words):
        with pytest.raises(cloud_file.NotACloud) as caught:
            cloud_file.load(db.engine, cloud)
        assert words in str(caught.value)

    def test_a_refused_cloud_changes_nothing(self, load, db, conf):
        load(hosts=2)
        with pytest.raises(cloud_file.NotACloud):
            load(services=[clouds.a_service(), clouds.a_service()])
        assert len(cloud_export.export(conf)['services']) == 2
