"""A fake cloud behaves like Nova's compute services."""

import datetime
import json
import logging
import threading

import pytest

from nova_sched.cloud import export as cloud_export
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cloud import file as cloud_file
from tests.builders import clouds

FLAVOR = {'id': 3, 'memory_mb': 2048, 'vcpus': 2, 'root_gb': 20,
          'ephemeral_gb': 5}


@pytest.fixture
def cloud(db):
    cloud = fake_cloud.FakeCloud(db.engine, hosts=20)
    cloud.create()
    return cloud


@pytest.fixture
def rows(conf):
    """Function: the rows of one table, by host name."""
    def rows(table):
        return {row['host']: row for row in cloud_export.export(conf)[table]}
    return rows


class TestCreate:
    @pytest.mark.parametrize('count, trouble', [
        (3, [None, None, None]), (20, ['fake-0020', 'fake-0019', None]),
        (100, ['fake-0100', 'fake-0099', 'fake-0098'])])
    def test_the_last_hosts_of_a_cloud_are_in_trouble(self, db, rows, count,
                                                      trouble):
        cloud = fake_cloud.FakeCloud(db.engine, hosts=count)
        cloud.create()
        services, now = rows('services').values(), cloud_file.utcnow()
        found = [[s['host'] for s in services if is_in_trouble(s)]
                 for is_in_trouble in (
                     lambda s: now - datetime.datetime.fromisoformat(
                         s['last_seen_up']) > datetime.timedelta(minutes=1),
                     lambda s: s['disabled'], lambda s: s['forced_down'])]

        assert [cloud.dead_host, cloud.disabled_host,
                cloud.forced_down_host] == trouble
        assert found == [[name] if name else [] for name in trouble]
        assert cloud.heartbeat() == count - (trouble[0] is not None)

    def test_every_host_is_in_one_of_three_zones(self, cloud, hosts):
        aggregates = {a['name']: a for a in hosts.aggregates()}
        zones = [aggregates[name] for name in ('az1', 'az2', 'az3')]
        names = [zone['metadata']['availability_zone'] for zone in zones]
        assert names == ['az1', 'az2', 'az3']
        assert len({h for zone in zones for h in zone['hosts']}) == 20
        assert aggregates['ssd']['metadata'] == {'ssd': 'true'}

    def test_texts_have_the_form_of_nova(self, cloud, rows):
        nodes = rows('compute_nodes').values()
        for node in nodes:
            assert 'topology' in json.loads(node['cpu_info'])
            assert json.loads(node['stats'])['num_instances'] == '0'
            assert all(len(triple) == 3 for triple in json.loads(
                node['supported_instances']))
            assert json.loads(
                node['pci_stats'])['nova_object.name'] == 'PciDevicePoolList'
        numa = [json.loads(node['numa_topology']) for node in nodes
                if node['numa_topology']]
        assert len(numa) > 10
        assert {'NUMATopology'} == {n['nova_object.name'] for n in numa}

    def test_numa_cells_hold_all_cpus_and_memory(self, cloud, rows):
        for node in rows('compute_nodes').values():
            if not node['numa_topology']:
                continue
            cells = [cell['nova_object.data'] for cell in json.loads(
                node['numa_topology'])['nova_object.data']['cells']]
            cpus = sorted(cpu for cell in cells for cpu in cell['cpuset'])
            assert list(range(node['vcpus'])) == cpus
            assert node['memory_mb'] == sum(c['memory'] for c in cells)


class TestHeartbeat:
    def test_updates_live_services(self, cloud, rows, execute):
        execute("UPDATE services SET last_seen_up = '2020-01-01 00:00:00'")
        assert cloud.heartbeat() == 19
        services = rows('services')
        dead = services.pop(cloud.dead_host)
        assert dead['last_seen_up'] == '2020-01-01T00:00:00'
        assert {2} == {s['report_count'] for s in services.values()}
        assert all(s['last_seen_up'] > '2026' for s in services.values())

    def test_does_not_update_other_services(self, db, load):
        load(hosts=2)
        assert fake_cloud.FakeCloud(db.engine, hosts=2).heartbeat() == 0


class TestAudit:
    def test_reports_a_booted_server(self, cloud, rows):
        before = rows('compute_nodes')['fake-0001']
        cloud.boot(clouds.a_uuid(), 'fake-0001', 'fake-0001', FLAVOR,
                   project_id='p1')
        assert cloud.audit() == 1
        after = rows('compute_nodes')['fake-0001']
        changes = {
            'free_ram_mb': -2048, 'memory_mb_used': 2048,
            'free_disk_gb': -25, 'local_gb_used': 25,
            'disk_available_least': -25, 'vcpus_used': 2, 'running_vms': 1}
        assert changes == {
            name: after[name] - before[name] for name in changes}
        stats = json.loads(after['stats'])
        assert (
            stats['num_instances'], stats['num_vm_active'],
            stats['num_proj_p1']) == ('1', '1', '1')

    def test_counts_servers_that_are_building(self, cloud, rows):
        cloud.boot(clouds.a_uuid(), 'fake-0001', 'fake-0001', FLAVOR,
                   vm_state='building', task_state='spawning')
        cloud.audit()
        stats = json.loads(rows('compute_nodes')['fake-0001']['stats'])
        assert stats['io_workload'] == '1'

    def test_writes_only_rows_that_changed(self, cloud, rows, execute):
        execute('UPDATE compute_nodes SET updated_at = NULL')
        assert cloud.audit() == 0
        cloud.boot(clouds.a_uuid(), 'fake-0002', 'fake-0002', FLAVOR)
        cloud.audit()
        assert [
            host for host, node in rows('compute_nodes').items()
            if node['updated_at']] == ['fake-0002']

    def test_frees_the_room_of_a_deleted_server(self, cloud, rows):
        before = rows('compute_nodes')['fake-0001']
        uuid = clouds.a_uuid()
        cloud.boot(uuid, 'fake-0001', 'fake-0001', FLAVOR)
        cloud.audit()
        cloud.delete(uuid)
        assert cloud.audit() == 1
        after = rows('compute_nodes')['fake-0001']
        assert before['free_ram_mb'] == after['free_ram_mb']


class TestRun:
    def test_sends_heartbeats_until_stopped(self, cloud, rows, caplog):
        caplog.set_level(logging.INFO)
        stop = threading.Event()
        thread = threading.Thread(
            target=cloud.run, args=(stop,), kwargs={'interval': 0.01})
        thread.start()
        deadline = threading.Event()
        while 'sent a heartbeat' not in caplog.text:
            deadline.wait(0.01)
        stop.set()
        thread.join()
        assert rows('services')['fake-0001']['report_count'] > 1
        assert '19 of 20 hosts sent a heartbeat' in caplog.text

    def test_continues_after_a_database_error(self, cloud, caplog, execute):
        execute('DROP TABLE services')

        class TwoRounds:
            left = 2

            def is_set(self):
                return not self.left

            def wait(self, seconds):
                self.left -= 1

        cloud.run(TwoRounds())
        assert caplog.text.count('no heartbeats this time') == 2
