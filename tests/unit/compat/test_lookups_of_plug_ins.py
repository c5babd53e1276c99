"""Plug-ins look up aggregates, nodes, services and instances of any host."""

import ast
import functools
import gc
import importlib
import pathlib
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

    def test_weighers_read_other_hosts(self, servers):
        assert passing(servers, 'ShareOfRamWeigher', weigher=True)[0] == 'c'


#: Host -> uuid of its compute node.
UUIDS = {state.host: state.uuid for state in testing.hosts(
    *map(testing.a_host, 'ac')).states()}


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
        'function': function, 'CALL': CALL, 'UUIDS': UUIDS})


def cases(verb):
    """Return the rows of tests/data/plugin_lookups.txt with that verb.

    CALL -> KEYS: a list of rows.  CALL has DICT: an object.
    CALL == VALUE.  CALL raises CLASS TEXT.
    """
    return [line.split(f' {verb}', 1) for line in pathlib.Path(
        wild.DATA, 'plugin_lookups.txt').read_text().splitlines()
        if f' {verb}' in line]


#: Part of a function's name -> key that identifies its rows.
KEYS = {'instance': 'uuid', 'service': 'host', 'aggregate': 'id',
        'node': 'hypervisor_hostname'}


@pytest.mark.usefixtures('hosts')
class TestLookup:
    @pytest.mark.parametrize(('text', 'found'), cases('->'))
    def test_returns_a_list(self, text, found):
        """Of Nova's class; functions of nova.db return a plain list."""
        rows, owner = look_up(text), text.partition('.')[0]
        key = next(key for part, key in KEYS.items()
                   if part in text.partition('(')[0].lower())

        assert isinstance(
            rows, list if owner == 'db' else getattr(objects, owner))
        assert [str(row[key]) for row in rows] == found.split()

    @pytest.mark.parametrize(('text', 'values'), cases('has'))
    def test_returns_an_object(self, text, values):
        row, values = look_up(text), eval(values, {'UUIDS': UUIDS})

        assert {key: row[key] for key in values} == values
        assert {key: row.get(key) for key in values} == values

    @pytest.mark.parametrize(('text', 'value'), cases('=='))
    def test_returns_a_value(self, text, value):
        assert look_up(text) == ast.literal_eval(value.strip())

    @pytest.mark.parametrize(('text', 'error'), cases('raises'))
    def test_raises_an_error(self, text, error):
        """Nova's if there is no such row."""
        from nova import exception
        name, match = error.split(None, 1)
        with pytest.raises(getattr(exception, name, None) or getattr(
                current_hosts, name), match=match):
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
