"""Plug-ins read the instances on a host as objects of Nova.

They are in tests/data/wild_plug_ins.py.
"""

import datetime
import json

import pytest
import sqlalchemy as sa

from nova_sched import objects
from nova_sched import testing
from tests.builders import clouds
from tests.builders import requests
from tests.builders.wild import asked as passing

UUIDS = {name: clouds.a_uuid(number)
         for number, name in enumerate(['a1', 'a2', 'b1', 'b2', 'c1'], 11)}
BORN = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)


@pytest.fixture
def servers(cloud):
    """Two servers on a and on b and one on c, as Nova keeps them."""
    cloud.load(['a', 'b', 'c'], instances=[
        clouds.an_instance(name[0], uuid=uuid, created_at=(
            BORN + datetime.timedelta(days=number)).replace(
                tzinfo=None).isoformat())
        for number, (name, uuid) in enumerate(UUIDS.items())],
        instance_system_metadata=[
            {'instance_uuid': uuid, 'key': 'image_os_type',
             'value': 'noisy' if name == 'b1' else 'linux'}
            for name, uuid in UUIDS.items()])
    cloud.execute('CREATE TABLE instance_extra (id INTEGER, deleted INTEGER,'
                  ' instance_uuid TEXT, flavor TEXT, numa_topology TEXT)')
    cloud.execute('CREATE TABLE instance_metadata (id INTEGER, deleted '
                  'INTEGER, instance_uuid TEXT, key TEXT, value TEXT)')
    for number, (name, uuid) in enumerate(UUIDS.items()):
        flavor = testing.a_flavor(
            memory_mb=4096 if name == 'b2' else 1024,
            extra_specs={'kind': 'small'}).obj_to_primitive()
        cloud.execute(
            'INSERT INTO instance_extra VALUES (?, 0, ?, ?, NULL)', number,
            uuid, json.dumps({'cur': flavor, 'old': None, 'new': None}))
    cloud.execute("INSERT INTO instance_metadata VALUES (1, 0, ?, 'role', "
                  "'noisy')", UUIDS['a2'])
    return cloud


@pytest.fixture
def statements():
    """The SELECTs of instances and of what belongs to them."""
    seen = []

    def note(connection, cursor, statement, *args):
        if 'FROM instance' in statement:
            seen.append(statement)
    sa.event.listen(sa.Engine, 'before_cursor_execute', note)
    yield seen
    sa.event.remove(sa.Engine, 'before_cursor_execute', note)


def test_flavors_are_read_by_one_statement_for_all_hosts(servers,
                                                         statements):
    spec = requests.a_request(memory_mb=2048)

    assert set(passing(servers, 'RamOfOthersFilter', spec)) == {'a', 'c'}
    assert ['instance_extra' in text for text in statements] == [False, True]


def test_metadata_are_read_by_one_statement_for_all_hosts(servers,
                                                          statements):
    assert passing(servers, 'QuietNeighboursWeigher', weigher=True)[0] == 'c'
    assert [text.partition('FROM ')[2].split('\n')[0].split(',')[-1].strip()
            for text in statements[1:]] == [
        'instance_metadata', 'instance_system_metadata']


def test_times_have_a_time_zone(servers):
    assert passing(servers, 'YoungWeigher', weigher=True) == ['c', 'b', 'a']


class TestOnAHost:
    """Instances of the host manager."""

    @pytest.fixture
    def on_host(self, servers):
        """Function: return the instances on a host."""
        driver = servers.driver()
        manager = driver.host_manager

        def on_host(host):
            snapshot = manager.snapshot(manager.view().table,
                                        manager.instances())
            return {state.host: state for state
                    in snapshot.block().states()}[host].instances
        yield on_host
        driver.stop()

    def test_values_are_the_database_s(self, on_host):
        """Or None where it has neither a row nor a column nor a table."""
        other, instance = on_host('a').values()

        assert instance.created_at.tzinfo is datetime.UTC
        assert instance.created_at - other.created_at == (
            datetime.timedelta(days=1))
        assert (instance.metadata, other.metadata) == ({'role': 'noisy'}, {})
        assert instance.get_flavor('old') is None
        assert instance['flavor']['memory_mb'] == 1024
        assert instance.power_state == 1
        assert (other.numa_topology, other.pci_requests,
                other.launched_at) == (None, None, None)

    def test_fields_may_be_read_by_their_private_names(self, servers):
        """Plug-ins read _obj_ and a field's name in whole objects of Nova."""
        servers.execute('ALTER TABLE instances ADD display_name TEXT')
        servers.execute("UPDATE instances SET display_name = 'web-1'")
        instances = servers.driver().host_manager.instances()

        assert {instance._obj_display_name
                for instance in instances.on_host('a').values()} == {'web-1'}
        assert objects.Instance()._obj_display_name is None

    def test_missing_tables_are_empty(self, servers, on_host):
        servers.execute('DROP TABLE instance_extra')
        servers.execute('DROP TABLE instance_metadata')
        instance = on_host('a')[UUIDS['a2']]

        assert (instance.flavor, instance.metadata) == (None, {})

    @pytest.mark.parametrize('text', [
        'x', '[]', '{"cur": {}}', '{"cur": 1}', '[' * 100_000])
    def test_unreadable_flavor_is_none_and_logged(
            self, servers, on_host, caplog, text):
        servers.execute('UPDATE instance_extra SET flavor = ?', text)

        assert {instance.flavor for instance
                in on_host('a').values()} == {None}
        assert 'The flavor of instance ' in caplog.text


def test_instances_of_the_test_kit_may_have_flavors():
    state, = testing.hosts(testing.a_host('a'), running={
        'u1': {'host': 'a', 'flavor': testing.a_flavor(vcpus=3)},
        'u2': 'a'}).states()

    assert state.instances['u1'].get_flavor().vcpus == 3
    assert isinstance(state.instances['u2'], objects.Instance)
