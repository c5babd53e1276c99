"""Plug-ins look up aggregates, nodes, services and instances of any host."""

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

passing = functools.partial(wild.asked, module='wild_lookups')


class TestOnACloud:
    """Filters and weighers of tests/data/wild_lookups.py."""

    @pytest.fixture
    def servers(self, cloud):
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

    @pytest.mark.parametrize(('name', 'hint', 'hosts'), [
        ('FewerInstancesFilter', 'b', 'bc'),
        ('FewerInstancesFilter', 'a', 'abc'),
        ('ServersOfProjectFilter', '', 'bc'),
        ('BesideInstanceFilter', clouds.a_uuid(12), 'a'),
        ('BesideInstanceFilter', clouds.a_uuid(99), ''),
        ('RoomierFilter', '', 'bc'), ('YoungerServiceFilter', 'c', 'c'),
        ('YoungerServiceFilter', 'a', 'abc')])
    def test_filters_read_other_hosts(self, servers, name, hint, hosts):
        """By at most three queries of instances for all hosts."""
        queries = []

        def note(connection, cursor, statement, *args):
            if 'FROM instances' in statement:
                queries.append(statement)
        sa.event.listen(sa.Engine, 'before_cursor_execute', note)
        try:
            assert set(passing(servers, name, beside(hint))) == {*hosts}
        finally:
            sa.event.remove(sa.Engine, 'before_cursor_execute', note)
        assert len(queries) <= 3

    def test_change_is_refused(self, servers):
        with pytest.raises(current_hosts.NotAnswered,
                           match=r'API\.reboot is none of a'):
            passing(servers, 'RebootingFilter')

    def test_weighers_read_other_hosts(self, servers):
        assert passing(servers, 'ShareOfRamWeigher', weigher=True)[0] == 'c'


def uuid_of(host):
    return testing.hosts(testing.a_host(host)).states()[0].uuid


@pytest.fixture
def hosts():
    """Hosts a, b with two nodes, and c with a disabled service."""
    aggregates = [
        testing.an_aggregate({'k': '1', 'availability_zone': 'z'},
                             id=1, hosts=['a', 'b']),
        testing.an_aggregate({'l': '1'}, id=2, hosts=['a']),
        testing.an_aggregate({'k': '2'}, id=3, hosts=['b'])]
    return testing.hosts(
        testing.a_host('a', free_ram_mb=1024, aggregates=aggregates[:2]),
        testing.a_host('b', nodename='b1', aggregates=aggregates[2:]),
        testing.a_host('b', nodename='b2', hypervisor_type='ironic',
                       aggregates=aggregates[2:]),
        testing.a_host('c', service_disabled=True), running={
            'u1': {'host': 'a', 'node': 'a', 'project_id': 'p'},
            'u2': {'host': 'a', 'node': 'a', 'project_id': 'q'},
            'u3': {'host': 'b', 'node': 'b2', 'project_id': 'p'}}).states()


def look_up(text):
    """Evaluate a call without its context, such as ``db.service_get(1)``."""
    from nova import db
    from nova import objects
    path, _, args = text.partition('(')
    owner, _, method = path.partition('.')
    function = getattr(db if owner == 'db' else getattr(objects, owner),
                       method)
    return eval(f'function(CALL, {args}', {
        'function': function, 'CALL': CALL})


#: Part of a function's name -> key that identifies its rows.
KEYS = {'instance': 'uuid', 'service': 'host', 'aggregate': 'id',
        'node': 'hypervisor_hostname'}


@pytest.mark.usefixtures('hosts')
class TestLookup:
    @pytest.mark.parametrize(('text', 'found'), [
        ('AggregateList.get_all()', '1 2 3'),
        ("AggregateList.get_by_host('a')", '1 2'),
        ("AggregateList.get_by_host('a', 'l')", '2'),
        ("AggregateList.get_by_host('x')", ''),
        ("AggregateList.get_by_metadata_key('k')", '1 3'),
        ("AggregateList.get_by_metadata_key('k', ['a'])", '1'),
        ("AggregateList.get_by_metadata('k', '2')", '3'),
        ("AggregateList.get_by_metadata(None, '1')", '1 2'),
        ('db.aggregate_get_all()', '1 2 3'),
        ("db.aggregate_get_by_host('a')", '1 2'),
        ("db.aggregate_get_by_host('a', 'k')", '1'),
        ("db.aggregate_get_by_metadata_key('k')", '1 3'),
        ('ComputeNodeList.get_all()', 'a b1 b2 c'),
        ("ComputeNodeList.get_all_by_host('b')", 'b1 b2'),
        ("ComputeNodeList.get_by_hypervisor('b')", 'b1 b2'),
        ("ComputeNodeList.get_by_hypervisor('2')", 'b2'),
        (f"ComputeNodeList.get_all_by_uuids(['{uuid_of('a')}', "
         f"'{uuid_of('c')}', 'x'])", 'a c'),
        ('db.compute_node_get_all()', 'a b1 b2 c'),
        ("db.compute_node_get_all_by_host('b')", 'b1 b2'),
        ("db.compute_node_search_by_hypervisor('1')", 'b1'),
        ('ServiceList.get_all()', 'a b c'),
        ('ServiceList.get_all(False)', 'a b'),
        ('ServiceList.get_all(True)', 'c'),
        ("ServiceList.get_by_topic('compute')", 'a b'),
        ("ServiceList.get_by_binary('nova-compute')", 'a b'),
        ("ServiceList.get_by_binary('nova-compute', True)", 'a b c'),
        ("ServiceList.get_by_host('c')", 'c'),
        ("ServiceList.get_by_host('x')", ''),
        ('db.service_get_all()', 'a b c'),
        ('db.service_get_all(True)', 'c'),
        ("db.service_get_all_by_topic('compute')", 'a b'),
        ("db.service_get_all_by_binary('nova-compute')", 'a b'),
        ("db.service_get_all_by_host('b')", 'b'),
        ("InstanceList.get_by_host('a')", 'u1 u2'),
        ("InstanceList.get_by_host('x')", ''),
        ("InstanceList.get_by_host_and_node('b', 'b2')", 'u3'),
        ("InstanceList.get_by_host_and_node('b', 'b1')", ''),
        *((f'InstanceList.get_by_filters(dict({filters}, deleted=False))',
           found) for filters, found in [
            ({}, 'u1 u2 u3'), ({'host': 'a'}, 'u1 u2'),
            ({'host': ['a', 'b'], 'project_id': 'p'}, 'u1 u3'),
            ({'uuid': ['u2', 'u3', 'x']}, 'u2 u3'),
            ({'uuid': 'u2', 'host': 'b'}, '')]),
        ("InstanceList.get_by_filters({'deleted': False}, sort_key='uuid', "
         "limit=2)", 'u3 u2'),
        ('db.instance_get_all()', 'u1 u2 u3'),
        ("db.instance_get_all_by_host('a')", 'u1 u2'),
        ("db.instance_get_all_by_host_and_node('b', 'b2')", 'u3'),
        ("db.instance_get_all_by_filters({'deleted': False, 'host': 'b'}, "
         "'uuid', 'asc')", 'u3')])
    def test_returns_a_list(self, text, found):
        """A list of Nova's class; nova.db's functions return a list."""
        rows, cls = look_up(text), text.partition('.')[0]
        key = next(key for part, key in KEYS.items()
                   if part in text.partition('(')[0].lower())

        assert isinstance(rows, list if cls == 'db' else getattr(
            objects, cls))
        assert [str(row[key]) for row in rows] == found.split()

    @pytest.mark.parametrize(('text', 'values'), [
        ("ComputeNode.get_by_host_and_nodename('a', 'a')", {
            'uuid': uuid_of('a'), 'host': 'a', 'memory_mb': 32768,
            'memory_mb_used': 31744, 'free_ram_mb': 1024, 'vcpus': 16,
            'local_gb': 500, 'free_disk_gb': 500, 'hypervisor_type': 'QEMU'}),
        ("ComputeNode.get_by_nodename('b2')", {'host': 'b'}),
        ("db.compute_node_get_by_host_and_nodename('b', 'b2')",
         {'hypervisor_type': 'ironic'}),
        ("Service.get_by_compute_host('a')",
         {'binary': 'nova-compute', 'topic': 'compute'}),
        ('db.service_get(1)', {'host': 'a'}),
        ("db.service_get_by_compute_host('c')", {'disabled': True}),
        ("Instance.get_by_uuid('u3')", {'host': 'b'}),
        ("db.instance_get_by_uuid('u3')", {'host': 'b'}),
        ('db.aggregate_get(2)', {'id': 2})])
    def test_returns_an_object(self, text, values):
        row = look_up(text)

        assert {key: row[key] for key in values} == values
        assert {key: row.get(key) for key in values} == values

    @pytest.mark.parametrize(('text', 'value'), [
        ("InstanceList.get_uuids_by_host('a')", ['u1', 'u2']),
        ('db.aggregate_metadata_get(2)', {'l': '1'}),
        ("db.aggregate_metadata_get_by_host('a')",
         {'k': {'1'}, 'availability_zone': {'z'}, 'l': {'1'}}),
        ("db.aggregate_metadata_get_by_host('a', 'k')", {'k': {'1'}}),
        ("db.aggregate_metadata_get_by_host('x')", {}),
        ("db.aggregate_metadata_get_by_metadata_key(1, 'k')", {'k': {'1'}}),
        ('db.aggregate_host_get_all(1)', ['a', 'b']),
        ("BlockDeviceMappingList.bdms_by_instance_uuid(['u1'])", {})])
    def test_returns_a_value(self, text, value):
        assert look_up(text) == value

    @pytest.mark.parametrize(('text', 'error', 'match'), [
        ("ComputeNode.get_by_host_and_nodename('a', 'b1')",
         'ComputeHostNotFound', 'a'),
        ("ComputeNode.get_by_nodename('x')", 'ComputeHostNotFound', 'x'),
        ("ComputeNodeList.get_all_by_host('x')", 'ComputeHostNotFound', 'x'),
        ("Service.get_by_compute_host('x')", 'ComputeHostNotFound', 'x'),
        ("Instance.get_by_uuid('u9')", 'InstanceNotFound', 'u9'),
        ('db.service_get(99)', 'ServiceNotFound', '99'),
        ('db.aggregate_get(9)', 'AggregateNotFound', '9')])
    def test_raises_nova_s_error_for_an_unknown_name(self, text, error,
                                                     match):
        from nova import exception
        with pytest.raises(getattr(exception, error), match=match):
            look_up(text)

    @pytest.mark.parametrize(('text', 'match'), [
        ("ServiceList.get_by_topic('conductor')", 'compute services'),
        ("ServiceList.get_by_binary('nova-conductor')", 'compute services'),
        ('ServiceList.get_all(set_zones=True)', 'set_availability_zones'),
        *((f'InstanceList.get_by_filters({args})', match) for args, match in [
            ({'host': 'a'}, 'deleted'), ({'deleted': True}, 'deleted'),
            ({'deleted': False, 'vm_state': 'active'}, 'vm_state'),
            ("{'deleted': False}, marker='u1'", 'marker'),
            ("{'deleted': False}, sort_keys=['uuid']", 'sort_keys'),
            ("{'deleted': False}, sort_key='no_such'", 'no_such')])])
    def test_refuses_an_unsupported_argument(self, text, match):
        with pytest.raises(current_hosts.NotAnswered, match=match):
            look_up(text)

    def test_services_are_up_as_the_service_group_reports(self):
        """This one last reported in 2023."""
        from nova import servicegroup

        assert not servicegroup.API().service_is_up(
            look_up("Service.get_by_compute_host('a')"))

    @pytest.mark.parametrize(('host', 'zone'), [
        ('a', 'z'), (None, 'requested'), ('b', 'nova')])
    def test_returns_an_instance_s_zone(self, host, zone):
        from nova import availability_zones
        from nova import objects

        assert availability_zones.get_instance_availability_zone(
            CALL, objects.Instance(
                host=host, availability_zone='requested')) == zone


@pytest.mark.parametrize(('name', 'instead'), [
    ('instance_update', 'objects.InstanceList'),
    ('compute_node_get', 'objects.ComputeNodeList'),
    ('service_destroy', 'objects.ServiceList'),
    ('quota_get', 'doc/source/plugins.rst')])
@pytest.mark.parametrize('module', ['nova.db', 'nova.db.api'])
def test_missing_function_is_refused_with_an_alternative(module, name,
                                                         instead):
    with pytest.raises(AttributeError, match=f'nova.db.{name} .*{instead}'):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize('path', [
    'AggregateList.get_all', 'ComputeNodeList.get_all',
    'ServiceList.get_all'])
def test_lookup_outside_of_a_request_is_an_error(path):
    testing.hosts(testing.a_host('a')).states()
    gc.collect()
    with pytest.raises(current_hosts.NoCurrentHosts,
                       match=f'{path} reads the hosts'):
        look_up(f'{path}()')


def documented():
    """Return the class methods on the page on plug-ins: (class, method)."""
    rows = re.search(r'^Class  .*?\n[= ]+\n(.*?)\n=',
                     doc_pages.PAGES['plugins.rst'], re.M | re.S)[1]
    name, methods = None, []
    for row in rows.splitlines():
        name = row[:40].strip(' `') or name
        methods += [(name, method) for method
                    in re.findall(r'``(\w+)``', row[40:])]
    return methods


@pytest.mark.parametrize(('name', 'method'), documented())
def test_documented_method_is_offered(name, method):
    assert callable(getattr(getattr(objects, name), method))
