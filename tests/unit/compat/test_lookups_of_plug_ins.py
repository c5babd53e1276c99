"""Plug-ins look up nodes, services and instances of any host.

Those in tests/data/wild_lookups.py on a cloud; and each class method.
"""

import functools
import gc
import importlib
import re

import pytest
import sqlalchemy as sa

from nova_sched import objects
from nova_sched import testing
from nova_sched.compat import current_hosts
from tests.builders import clouds
from tests.builders import wild
from tests.builders.wild import CALL
from tests.builders.wild import beside
from tests.unit import doc_pages

pytestmark = pytest.mark.usefixtures('wild_plug_ins')

asked = functools.partial(wild.asked, module='wild_lookups')


@pytest.fixture
def servers(cloud):
    """Two servers on a, one on b, none on c; c has most memory."""
    cloud.load(['a', 'b', 'c'], instances=[
        clouds.an_instance(host, uuid=clouds.a_uuid(number),
                           project_id=project)
        for number, host, project in (
            (11, 'a', 'p'), (12, 'a', 'q'), (13, 'b', 'q'))])
    cloud.execute("UPDATE compute_nodes SET memory_mb = 99999 "
                  "WHERE host = 'c'")
    cloud.execute("UPDATE services SET version = 99 WHERE host = 'c'")
    return cloud


@pytest.mark.parametrize(('name', 'other', 'found'), [
    ('FewerInstancesFilter', 'b', {'b', 'c'}),
    ('FewerInstancesFilter', 'a', {'a', 'b', 'c'}),
    ('ServersOfProjectFilter', '', {'b', 'c'}),
    ('BesideInstanceFilter', clouds.a_uuid(12), {'a'}),
    ('BesideInstanceFilter', clouds.a_uuid(99), set()),
    ('RoomierFilter', '', {'b', 'c'}),
    ('YoungerServiceFilter', 'c', {'c'}),
    ('YoungerServiceFilter', 'a', {'a', 'b', 'c'})])
def test_filters_know_them_all(servers, name, other, found):
    assert set(asked(servers, name, beside(other))) == found


def test_what_they_would_do_is_refused(servers):
    with pytest.raises(current_hosts.NotAnswered,
                       match=r'API\.reboot is not offered'):
        asked(servers, 'RebootingFilter')


def test_weighers_know_them_all(servers):
    assert asked(servers, 'ShareOfRamWeigher', weigher=True)[0] == 'c'


@pytest.mark.parametrize('name', [
    'FewerInstancesFilter', 'ServersOfProjectFilter',
    'BesideInstanceFilter'])
def test_no_host_costs_a_query(servers, name):
    seen = []

    def note(connection, cursor, statement, *args):
        if 'FROM instances' in statement:
            seen.append(statement)
    sa.event.listen(sa.Engine, 'before_cursor_execute', note)
    try:
        asked(servers, name, beside(clouds.a_uuid(12)))
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', note)

    assert 1 <= len(seen) <= 3


def uuid_of(host):
    return testing.hosts(testing.a_host(host)).states()[0].uuid


@pytest.fixture
def hosts():
    """The states of a, of two nodes of b and of c, whose service is disabled.
    """
    return testing.hosts(
        testing.a_host('a', free_ram_mb=1024),
        testing.a_host('b', nodename='b1'), testing.a_host(
            'b', nodename='b2', hypervisor_type='ironic'),
        testing.a_host('c', service_disabled=True), running={
            'u1': {'host': 'a', 'node': 'a', 'project_id': 'p'},
            'u2': {'host': 'a', 'node': 'a', 'project_id': 'q'},
            'u3': {'host': 'b', 'node': 'b2', 'project_id': 'p'}}).states()


def called(path, *args, **kwargs):
    from nova import objects
    cls, _, method = path.partition('.')
    return getattr(getattr(objects, cls), method)(CALL, *args, **kwargs)


@pytest.mark.usefixtures('hosts')
class TestComputeNodes:
    @pytest.mark.parametrize(('method', 'args', 'nodes'), [
        ('get_all', (), ['a', 'b1', 'b2', 'c']),
        ('get_all_by_host', ('b',), ['b1', 'b2']),
        ('get_by_hypervisor', ('b',), ['b1', 'b2']),
        ('get_by_hypervisor', ('2',), ['b2']),
        ('get_all_by_uuids', ([uuid_of('a'), uuid_of('c'), 'x'],),
         ['a', 'c'])])
    def test_are_those_of_the_hosts(self, hosts, method, args, nodes):
        from nova import objects
        found = called(f'ComputeNodeList.{method}', *args)

        assert isinstance(found, objects.ComputeNodeList)
        assert [node.hypervisor_hostname for node in found] == nodes

    def test_have_what_the_host_has(self, hosts):
        node = called('ComputeNode.get_by_host_and_nodename', 'a', 'a')

        assert (node.uuid, node.host, node.memory_mb, node.memory_mb_used,
                node.free_ram_mb) == (uuid_of('a'), 'a', 32768, 31744, 1024)
        assert (node['vcpus'], node.get('local_gb'), node.free_disk_gb,
                node.hypervisor_type) == (16, 500, 500, 'QEMU')

    def test_may_be_asked_for_by_their_name_alone(self, hosts):
        assert called('ComputeNode.get_by_nodename', 'b2').host == 'b'

    @pytest.mark.parametrize(('method', 'args'), [
        ('ComputeNode.get_by_host_and_nodename', ('a', 'b1')),
        ('ComputeNode.get_by_nodename', ('x',)),
        ('ComputeNodeList.get_all_by_host', ('x',))])
    def test_that_are_not_there_are_not_found(self, hosts, method, args):
        from nova import exception
        with pytest.raises(exception.ComputeHostNotFound, match=args[0]):
            called(method, *args)


class TestServices:
    @pytest.mark.parametrize(('method', 'args', 'found'), [
        ('get_all', (), 'abc'), ('get_all', (False,), 'ab'),
        ('get_all', (True,), 'c'), ('get_by_topic', ('compute',), 'ab'),
        ('get_by_binary', ('nova-compute',), 'ab'),
        ('get_by_binary', ('nova-compute', True), 'abc'),
        ('get_by_host', ('c',), 'c'), ('get_by_host', ('x',), '')])
    def test_are_those_of_the_hosts(self, hosts, method, args, found):
        from nova import objects
        services = called(f'ServiceList.{method}', *args)

        assert isinstance(services, objects.ServiceList)
        assert ''.join(service.host for service in services) == found

    def test_are_up_as_the_service_group_says(self, hosts):
        from nova import servicegroup
        service = called('Service.get_by_compute_host', 'a')

        assert service.binary == 'nova-compute'
        assert service['topic'] == 'compute'
        assert not servicegroup.API().service_is_up(service)    # of 2023

    def test_that_are_not_there_are_not_found(self, hosts):
        from nova import exception
        with pytest.raises(exception.ComputeHostNotFound, match='x'):
            called('Service.get_by_compute_host', 'x')

    @pytest.mark.parametrize(('method', 'args'), [
        ('get_by_topic', ('conductor',)),
        ('get_by_binary', ('nova-conductor',))])
    def test_of_others_nothing_is_known(self, hosts, method, args):
        with pytest.raises(current_hosts.NotAnswered,
                           match='compute services'):
            called(f'ServiceList.{method}', *args)

    def test_have_their_zone_by_another_function(self, hosts):
        with pytest.raises(current_hosts.NotAnswered,
                           match='set_availability_zones'):
            called('ServiceList.get_all', set_zones=True)


class TestInstances:
    @pytest.mark.parametrize(('method', 'args', 'found'), [
        ('get_by_host', ('a',), ['u1', 'u2']),
        ('get_by_host', ('x',), []),
        ('get_by_host_and_node', ('b', 'b2'), ['u3']),
        ('get_by_host_and_node', ('b', 'b1'), []),
        *(('get_by_filters', (dict(filters, deleted=False),), found)
          for filters, found in [
              ({}, ['u1', 'u2', 'u3']), ({'host': 'a'}, ['u1', 'u2']),
              ({'host': ['a', 'b'], 'project_id': 'p'}, ['u1', 'u3']),
              ({'uuid': ['u2', 'u3', 'x']}, ['u2', 'u3']),
              ({'uuid': 'u2', 'host': 'b'}, [])])])
    def test_are_those_on_the_hosts(self, hosts, method, args, found):
        from nova import objects
        instances = called(f'InstanceList.{method}', *args)

        assert isinstance(instances, objects.InstanceList)
        assert [instance.uuid for instance in instances] == found

    def test_are_known_by_their_uuids(self, hosts):
        from nova import exception

        assert called('InstanceList.get_uuids_by_host', 'a') == ['u1', 'u2']
        assert called('Instance.get_by_uuid', 'u3').host == 'b'
        with pytest.raises(exception.InstanceNotFound, match='u9'):
            called('Instance.get_by_uuid', 'u9')

    def test_come_in_the_order_and_number_asked_for(self, hosts):
        found = called('InstanceList.get_by_filters', {'deleted': False},
                       sort_key='uuid', limit=2)

        assert [instance.uuid for instance in found] == ['u3', 'u2']

    @pytest.mark.parametrize(('filters', 'more', 'reason'), [
        ({'host': 'a'}, {}, 'deleted'), ({'deleted': True}, {}, 'deleted'),
        ({'deleted': False, 'vm_state': 'active'}, {}, 'vm_state'),
        ({'deleted': False}, {'marker': 'u1'}, 'marker'),
        ({'deleted': False}, {'sort_keys': ['uuid']}, 'sort_keys'),
        ({'deleted': False}, {'sort_key': 'no_such'}, 'no_such')])
    def test_are_not_filtered_by_what_is_not_known(
            self, hosts, filters, more, reason):
        with pytest.raises(current_hosts.NotAnswered, match=reason):
            called('InstanceList.get_by_filters', filters, **more)


class TestRows:
    """What ``nova.db`` answers with: the same objects, in lists."""

    @pytest.mark.parametrize(('name', 'args', 'key', 'found'), [
        ('instance_get_all', (), 'uuid', ['u1', 'u2', 'u3']),
        ('instance_get_all_by_host', ('a',), 'uuid', ['u1', 'u2']),
        ('instance_get_all_by_host_and_node', ('b', 'b2'), 'uuid', ['u3']),
        ('instance_get_all_by_filters',
         ({'deleted': False, 'host': 'b'}, 'uuid', 'asc'), 'uuid', ['u3']),
        ('compute_node_get_all', (), 'hypervisor_hostname',
         ['a', 'b1', 'b2', 'c']),
        ('compute_node_get_all_by_host', ('b',), 'hypervisor_hostname',
         ['b1', 'b2']),
        ('compute_node_search_by_hypervisor', ('1',), 'hypervisor_hostname',
         ['b1']),
        ('service_get_all', (), 'host', ['a', 'b', 'c']),
        ('service_get_all', (True,), 'host', ['c']),
        ('service_get_all_by_topic', ('compute',), 'host', ['a', 'b']),
        ('service_get_all_by_binary', ('nova-compute',), 'host', ['a', 'b']),
        ('service_get_all_by_host', ('b',), 'host', ['b'])])
    def test_of_several(self, hosts, name, args, key, found):
        from nova import db
        rows = getattr(db, name)(CALL, *args)

        assert isinstance(rows, list)
        assert [row[key] for row in rows] == found

    @pytest.mark.parametrize(('name', 'args', 'key', 'found'), [
        ('instance_get_by_uuid', ('u3',), 'host', 'b'),
        ('compute_node_get_by_host_and_nodename', ('b', 'b2'),
         'hypervisor_type', 'ironic'),
        ('service_get', (1,), 'host', 'a'),
        ('service_get_by_compute_host', ('c',), 'disabled', True)])
    def test_of_one(self, hosts, name, args, key, found):
        from nova.db import api

        assert getattr(api, name)(CALL, *args)[key] == found

    def test_of_none(self, hosts):
        from nova import db
        from nova import exception
        with pytest.raises(exception.ServiceNotFound, match='99'):
            db.service_get(CALL, 99)

    @pytest.mark.parametrize(('name', 'instead'), [
        ('instance_update', 'objects.InstanceList'),
        ('compute_node_get', 'objects.ComputeNodeList'),
        ('service_destroy', 'objects.ServiceList'),
        ('quota_get', 'doc/source/plugins.rst')])
    @pytest.mark.parametrize('module', ['nova.db', 'nova.db.api'])
    def test_of_others_are_refused_by_saying_what_there_is(
            self, module, name, instead):
        with pytest.raises(AttributeError, match=f'nova.db.{name} .*'
                                                 f'{instead}'):
            getattr(importlib.import_module(module), name)


@pytest.mark.parametrize('path', [
    'ComputeNodeList.get_all', 'ServiceList.get_all'])
def test_nothing_is_known_outside_of_a_request(path):
    gc.collect()
    with pytest.raises(current_hosts.NoCurrentHosts, match=path):
        called(path)


def documented():
    """The class methods that the page on plug-ins shows: (class, method)."""
    rows = re.search(r'^Class  .*?\n[= ]+\n(.*?)\n=',
                     doc_pages.PAGES['plugins.rst'], re.M | re.S)[1]
    name = None
    for row in rows.splitlines():
        name = row[:40].strip(' `') or name
        yield from ((name, method) for method
                    in re.findall(r'``(\w+)``', row[40:]))


@pytest.mark.parametrize(('name', 'method'), documented())
def test_the_documented_methods_are_there(name, method):
    assert callable(getattr(getattr(objects, name), method))
