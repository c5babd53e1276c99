"""Databases of Nova in the layout of each era, read and written.

The tables have exactly the columns of the era.  AnyLayout has the tests of
all eras; subclasses have the differences.
"""

import contextlib

import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.cloud import export as cloud_export
from nova_sched.db import cells
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.db import schema
from nova_sched.db import services
from nova_sched.objects import CellMapping
from nova_sched.objects import Destination
from nova_sched.scheduler import loading
from tests.builders import clouds
from tests.builders import rules
from tests.builders.drivers import picks
from tests.builders.requests import a_request
from tests.functional import conftest
from tests.functional import layouts
from tests.functional import stage as stages

pytestmark = pytest.mark.real

ONE, TWO = clouds.a_uuid(101), clouds.a_uuid(102)
SERVER, DELETED_SERVER = clouds.a_uuid(103), clouds.a_uuid(104)
GROUP, DEAD_GROUP = clouds.a_uuid(105), clouds.a_uuid(106)
NODE = clouds.a_uuid(107)

#: Era -> version of the first service record in such a database.
VERSIONS = {layouts.KILO: None, layouts.LIBERTY: 2, layouts.MITAKA: 9,
            layouts.OCATA: 9, layouts.PIKE: 22, layouts.QUEENS: 22,
            layouts.NOVA_34: 74}

#: [DEFAULT] cpu_allocation_ratio, for hosts that report none.
OPTION = 5.0
#: Heartbeats are written once; the host that is down has one of 2020.
ALIVE = {'DEFAULT__service_down_time': 86400}


def fill(layout):
    """Add hosts a, b, c and down, a server on a, and two aggregates."""
    one, *others = layout.cells.values()
    layout.add_host(one, 'a', uuid=NODE, vcpus_used=4, free_ram_mb=20000,
                    cpu_allocation_ratio=8.0)
    layout.add_host(one, 'b', cpu_allocation_ratio=None)
    layout.add_host(one, 'down', down=True)
    layout.add_host(others[0] if others else one, 'c', mapped=0,
                    cpu_allocation_ratio=0.0)
    for uuid, deleted in ((SERVER, 0), (DELETED_SERVER, 2)):
        one.add('instances', **clouds.an_instance(
            'a', uuid=uuid, deleted=deleted))
        one.add('instance_system_metadata', instance_uuid=uuid,
                key='image_os_distro', value='debian')
        one.add('instance_metadata', instance_uuid=uuid, key='role',
                value='db')
        one.add('instance_extra', instance_uuid=uuid, flavor='as it is')
    layout.add_aggregate(layout.grouped, 1, 'zone', ['a', 'down'],
                         availability_zone='east')
    layout.add_aggregate(layout.grouped, 2, 'fast', ['b', 'c'], ssd='true')
    layout.add_group(layout.grouped, GROUP, SERVER, 'anti-affinity')
    # Deleted rows where there is one database, unused tables in cells.
    deleted = 3 if layout.grouped is layout.main else 0
    for database in {layout.main, one}:
        layout.add_aggregate(database, 3, 'dead', ['a', 'b', 'c'], deleted,
                             availability_zone='nowhere')
        layout.add_group(database, DEAD_GROUP, SERVER, 'affinity', deleted)


def pytest_generate_tests(metafunc):
    metafunc.parametrize('layout', metafunc.cls.SERVERS, indirect=True,
                         scope='class')


@pytest.fixture(scope='class')
def layout(request):
    """The filled Layout of a class's era."""
    with contextlib.ExitStack() as ends:
        def new():
            url, drop = conftest.new_database(request.param)
            ends.callback(drop)
            return url

        layout = layouts.Layout(request.cls.ERA, new, request.cls.CELLS)
        ends.callback(layout.close)
        fill(layout)
        request.cls.finish(layout)
        yield layout


@pytest.fixture(scope='class')
def urls(layout):
    """Options with the URLs of the databases."""
    if layout.api is None:
        return {'database__connection': layout.main.url}
    return {'database__connection': layout.main.url,
            'api_database__connection': layout.api.url}


@pytest.fixture(scope='class')
def conf(urls):
    return rules.a_conf(
        enabled_filters=['AvailabilityZoneFilter', 'ComputeFilter',
                         'RamFilter', 'AggregateInstanceExtraSpecsFilter'],
        DEFAULT__cpu_allocation_ratio=OPTION, **ALIVE, **urls)


@pytest.fixture(scope='class')
def hosts(conf):
    """A HostReader of the layout."""
    hosts = reader.HostReader(conf)
    yield hosts
    hosts.close()


@pytest.fixture(scope='class')
def driver(conf):
    """A filter scheduler on the layout."""
    driver = loading.load_driver(conf)
    driver.start()
    yield driver
    driver.stop()


class AnyLayout:
    """Tests of the layout of each era.

    ERA: letter.  CELLS: names of the mapped cells.  CELL_OF: host -> uuid of
    its cell.  REPORTED: whether hosts report their ratios.  SERVING: hosts
    that accept servers.  SERVERS: kinds of database servers; eras that
    differ in a column only are tried on one kind.
    """

    SERVERS = (conftest.MARIADB,)
    CELLS = ()
    CELL_OF = dict.fromkeys(['a', 'b', 'c', 'down'], cells.SINGLE_CELL_UUID)
    REPORTED = True
    SERVING = ('a', 'b', 'c')

    @staticmethod
    def finish(layout):
        """Add what only this era has."""

    def test_refuses_to_be_made_ours(self, layout):
        for database in {layout.main, layout.grouped, *layout.cells.values()}:
            before = database.rows('aggregates')
            made = engine.Database(database.url)
            for write in (schema.check_own_schema, schema.sync_database):
                with pytest.raises(exception.ConfigurationError,
                                   match='Nothing was changed'):
                    write(made)
            made.close()
            assert database.rows('aggregates') == before

    def test_has_every_host_with_its_figures(self, driver):
        columns = self.view(driver).columns
        found = dict(zip(columns['host'].items(), zip(
            columns['vcpus_used'].tolist(), columns['free_ram_mb'].tolist(),
            columns['cpu_allocation_ratio'].tolist(), strict=True),
            strict=True))

        ratio = 8.0 if self.REPORTED else OPTION
        assert found['a'] == (4, 20000, ratio)
        assert found['b'] == found['c'] == (0, 32256, OPTION)

    def test_has_each_host_in_its_cell(self, driver):
        columns = self.view(driver).columns
        assert dict(zip(columns['host'].items(), columns['cell_uuid'].items(),
                        strict=True)) == self.CELL_OF

    @staticmethod
    def view(driver):
        return driver.host_manager.view().table

    def test_decides_on_hosts_that_are_up(self, driver):
        answer = picks(driver, a_request(
            num_instances=6, memory_mb=2048),
            [clouds.a_uuid() for _ in range(6)])

        assert set(answer) == set(self.SERVING)

    # If the driver cannot start, a service would wait forever.
    @pytest.mark.usefixtures('driver')
    def test_serves_a_service_that_has_its_own_record(
            self, layout, urls, tmp_path):
        stage = stages.Stage(tmp_path, 'fake://', layout.main.url, **ALIVE,
                             **urls)
        try:
            stage.embedded()
            assert stage.client().pick() in self.SERVING
        finally:
            stage.close()
        assert layout.main.rows('services', host=stage.conf.host)

    def test_has_aggregates_and_zones(self, driver, hosts):
        assert [(each['name'], each['hosts'], each['metadata'])
                for each in hosts.aggregates()] == [
            ('zone', ['a', 'down'], {'availability_zone': 'east'}),
            ('fast', ['b', 'c'], {'ssd': 'true'})]
        assert picks(driver, a_request(availability_zone='east')) == ['a']
        [fast] = picks(driver, a_request(extra_specs={
            'aggregate_instance_extra_specs:ssd': 'true'}))
        assert fast in ('b', 'c')

    def test_has_the_stamp_of_aggregates(self, hosts):
        assert hosts.api_stamp()

    def test_finds_instances_and_their_image_properties(self, hosts):
        assert hosts.locate_instances([SERVER, DELETED_SERVER]) == {
            SERVER: 'a'}
        [server] = hosts.instances_on(['a', 'b', 'c'])
        assert (server['uuid'], server['memory_mb']) == (SERVER, 2048)
        assert hosts.image_properties(['a'], ['os_distro']) == [
            ('a', SERVER, 'os_distro', 'debian')]

    def test_finds_details_of_instances(self, hosts):
        """A detail without a column is empty."""
        for name, value in (
                ('system_metadata', {'image_os_distro': 'debian'}),
                ('metadata', {'role': 'db'}), ('flavor', 'as it is'),
                ('numa_topology', None), ('power_state', 1)):
            assert hosts.instance_details(['a'], name) == {SERVER: value}
        [born] = hosts.instance_details(['a'], 'created_at').values()
        assert born.tzinfo is None
        assert hosts.instance_details(['a'], 'launched_at') == {}

    def test_finds_a_node_by_its_host_and_by_its_name(self, hosts):
        for host, node in (('a', None), (None, 'a'), ('a', 'a')):
            [found] = hosts.find_nodes(host, node)
            assert (found.host, found.nodename) == ('a', 'a')
            assert found.uuid == (None if self.ERA < layouts.MITAKA else NODE)
        assert hosts.find_nodes('a', 'b') == []
        assert hosts.find_nodes('a', None, clouds.a_uuid(0)) == []

    def test_has_the_record_of_the_service(self, layout, conf):
        """All columns of the era are written."""
        record = services.ServiceRecord(engine.database(conf), 'sched')
        record.register()
        assert record.heartbeat()
        assert record.leader(60) == 'sched'
        record.db.close()

        [row] = layout.main.rows('services', host='sched')
        assert (row['binary'], row['topic'], row['report_count']) == (
            'nova-scheduler', 'scheduler', 1)
        unset = {name for name, value in row.items() if value is None}
        assert unset == {'deleted_at', 'disabled_reason'}
        # The version of the oldest release with such tables, so that its
        # nova-scheduler still starts.
        assert row.get('version') == VERSIONS[self.ERA]

    def test_is_exported_whole(self, conf):
        cloud = cloud_export.export(conf)

        assert {node['hypervisor_hostname']
                for node in cloud['compute_nodes']} == set(self.CELL_OF)
        seen = {each['host']: each['last_seen_up']
                for each in cloud['services']}
        assert seen['a'] > seen['down']
        assert {each['uuid'] for each in cloud['instances']} == {
            SERVER, DELETED_SERVER}
        assert cloud['instance_system_metadata'][0]['value'] == 'debian'
        assert [each['hosts'] for each in cloud['aggregates']] == [
            ['a', 'down'], ['b', 'c']]
        [group] = cloud['instance_groups']
        assert (group['uuid'], group['policy'], group['members']) == (
            GROUP, 'anti-affinity', [SERVER])
        assert {each['host']: each['cell_uuid']
                for each in cloud['host_mappings']} == (
            self.CELL_OF if self.CELLS else {})


class TestKilo(AnyLayout):
    """One database; heartbeats change updated_at only."""

    ERA = layouts.KILO
    SERVERS = conftest.DATABASES
    REPORTED = False
    SERVING = ('a', 'b', 'c', 'old')
    CELL_OF = AnyLayout.CELL_OF | {'old': cells.SINGLE_CELL_UUID}

    @staticmethod
    def finish(layout):
        """Add a row of before Kilo, which has its host in its service."""
        layout.add_host(layout.main, 'old')
        [service] = layout.main.rows('services', host='old')
        layout.main.execute(
            "UPDATE compute_nodes SET host = NULL, service_id = "
            f"{service['id']} WHERE host = 'old'")

    def test_finds_the_node_of_a_host_that_only_a_service_names(self, hosts):
        assert [tuple(node) for node in hosts.find_nodes('old', None)] == [
            (None, 'old', 'old')]


class TestLiberty(AnyLayout):
    """One database; services have last_seen_up."""

    ERA = layouts.LIBERTY


class TestMitaka(AnyLayout):
    """One database, and an API database without aggregates and cells."""

    ERA = layouts.MITAKA

    def test_maps_no_hosts(self, conf, layout):
        assert discover(conf) == []
        assert layout.api.rows('host_mappings') == []


def discover(conf):
    """Run host discovery; return the newly mapped hosts."""
    search = discovery.Discovery(conf)
    try:
        return search.run().mapped
    finally:
        search.close()


def map_cells(layout, **two):
    """Map all cells and all hosts but c."""
    layout.map_cell0()
    layout.map(ONE, 'one', layout.cells['one'].url, ['a', 'b', 'down'])
    if 'two' in layout.cells:
        layout.map(TWO, 'two', layout.cells['two'].url, **two)


class MappedLayout(AnyLayout):
    """Tests of layouts with mapped cells and hosts; host c is not mapped.

    NEW: the report of host c once it is mapped.
    """

    def test_maps_a_new_host_once(self, conf, layout, hosts):
        assert discover(conf) == [self.NEW]
        assert discover(conf) == []
        assert hosts.host_cells() == self.CELL_OF
        [node] = [node for database in layout.cells.values()
                  for node in database.rows('compute_nodes', host='c')]
        # Nodes of Ocata have no such column.
        assert node.get('mapped', 1) == 1


class TestOcata(MappedLayout):
    """An API database, cell0 and one cell; nodes have no mapped column."""

    ERA = layouts.OCATA
    CELLS = ('one',)
    CELL_OF = dict.fromkeys(['a', 'b', 'c', 'down'], ONE)
    NEW = 'one:c'
    finish = staticmethod(map_cells)


class TestPike(TestOcata):
    """Nodes have the column mapped."""

    ERA = layouts.PIKE


class TestQueens(MappedLayout):
    """An API database, cell0 and two cells, which cannot be disabled."""

    ERA = layouts.QUEENS
    SERVERS = conftest.DATABASES
    CELLS = ('one', 'two')
    CELL_OF = TestOcata.CELL_OF | {'c': TWO}
    NEW = 'two:c'
    finish = staticmethod(map_cells)

    def test_has_cells_that_are_not_disabled(self, hosts):
        assert [(cell.name, cell.disabled) for cell in hosts.find_cells()] == [
            ('one', False), ('two', False)]


class Test34(TestQueens):
    """Cells may be disabled, and their URLs templates."""

    ERA = layouts.NOVA_34
    SERVING = ('a', 'b')

    @staticmethod
    def finish(layout):
        map_cells(layout, disabled=True)
        url = sa.make_url(layout.cells['one'].url)
        port = ':{port}' if url.port else ''
        layout.api.execute(
            'UPDATE cell_mappings SET database_connection = '
            f"'{{scheme}}://{{username}}:{{password}}@{{hostname}}{port}/"
            f"{url.database}?{{query}}' WHERE name = 'one'")

    def test_has_cells_that_are_not_disabled(self, hosts):
        assert [(cell.name, cell.disabled) for cell in hosts.find_cells()] == [
            ('one', False), ('two', True)]

    def test_decides_on_a_disabled_cell_if_requested(self, driver):
        assert picks(driver, a_request(requested_destination=Destination(
            cell=CellMapping(uuid=TWO)))) == ['c']
