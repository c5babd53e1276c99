"""Nova 34 accepts the service's record and its host mappings."""

import contextlib
import os
import signal
import subprocess

import pytest
import sqlalchemy as sa

from nova_sched.db import tables
from tests.builders import clouds
from tests.functional import conftest as functional
from tests.functional import processes
from tests.functional import stage as stages
from tests.interop import rig_databases
from tests.interop import rig_world

pytestmark = pytest.mark.real


class RealNova:
    """Databases created by nova-manage, and programs of Nova on them.

    directory: for files.  databases: rig_databases.Databases.
    """

    def __init__(self, directory, databases):
        self._directory, self._databases = directory, databases
        self.options = {
            **databases.options(),
            'DEFAULT__state_path': directory,
            'DEFAULT__periodic_fuzzy_delay': 0,
            'DEFAULT__report_interval': 1,
            'scheduler__discover_hosts_in_cells_interval': 1,
            'scheduler__workers': 1,
            'oslo_concurrency__lock_path': directory,
            'placement__auth_type': 'none',
            'placement__endpoint_override': 'http://127.0.0.1:1'}

    def config_file(self, name, **options):
        return stages.write_config(self._directory / f'{name}.conf',
                                   **{**self.options, **options})

    def hosts(self):
        """The output of nova-manage cell_v2 list_hosts."""
        return subprocess.run(
            [rig_databases.program('nova-manage'), '--config-file',
             self.config_file('manage'), 'cell_v2', 'list_hosts'],
            capture_output=True, text=True, check=True).stdout

    def mapped(self):
        """Names of the mapped hosts: set."""
        with self.database('api') as connection:
            return set(connection.execute(sa.text(
                'SELECT host FROM host_mappings')).scalars())

    def run(self, program, host):
        """The scheduler of a host for a block, by the name of its program."""
        config = self.config_file(host, DEFAULT__host=host,
                                  DEFAULT__debug='true')
        return processes.running(program, ['--config-file', config],
                                 config.with_suffix('.log'))

    @contextlib.contextmanager
    def scheduler(self, host):
        """A nova-scheduler for a block; its stop would take long."""
        with self.run(str(rig_databases.program('nova-scheduler')),
                      host) as program:
            yield program
            os.killpg(program.pid, signal.SIGKILL)

    @contextlib.contextmanager
    def database(self, name):
        """A connection in a transaction."""
        engine = sa.create_engine(self._databases.urls[name])
        with engine.begin() as connection:
            yield connection
        engine.dispose()

    def records(self):
        """Service records of schedulers: dict host -> row."""
        with self.database('cell0') as connection:
            return {row['host']: dict(row) for row in connection.execute(
                sa.text('SELECT * FROM services')).mappings()}

    def add_compute_node(self, host):
        with self.database('cell1') as connection:
            connection.execute(tables.compute_nodes.insert().values(
                clouds.a_compute_node(host, mapped=0)))


@pytest.fixture(scope='module')
def deployment(tmp_path_factory):
    directory = tmp_path_factory.mktemp('nova')
    databases = rig_databases.Databases(
        directory, functional.broker(), rig_world.World.cells,
        disabled=rig_world.World.cells[-1:])
    databases.make()
    yield RealNova(directory, databases)
    databases.drop()


@pytest.fixture
def nova(deployment):
    """A RealNova without service records."""
    with deployment.database('cell0') as connection:
        connection.execute(tables.services.delete())
    return deployment


@contextlib.contextmanager
def daemon(nova, host):
    """The service beside Nova, for a block."""
    with nova.run('nova-sched', host) as program:
        program.wait_for_lines('Serving requests')
        yield program


def test_nova_leaves_host_discovery_to_the_service_until_it_is_disabled(nova):
    """The first scheduler that is up maps new hosts."""
    with daemon(nova, 'a-ours') as program, nova.scheduler('b-nova') as other:
        processes.until(lambda: 'Current leader is a-ours' in other.text,
                        'a leader')
        nova.add_compute_node('by-ours')
        processes.until(lambda: 'by-ours' in nova.mapped(), 'a mapped host')
        assert 'by-ours' in nova.hosts()
        assert 'Discovered' not in other.text
        ours, theirs = (nova.records()[host] for host in ('a-ours', 'b-nova'))
        with nova.database('cell0') as connection:
            connection.execute(sa.text(
                'UPDATE services SET disabled = (host = :host)'),
                {'host': 'a-ours'})
        program.wait_for_lines('Not discovering hosts')
        nova.add_compute_node('by-the-other')
        processes.until(lambda: 'cell1:by-the-other' in other.text,
                        'a mapped host')
        assert nova.records()['a-ours']['disabled']
    own = ('id', 'uuid', 'host', 'created_at', 'updated_at', 'last_seen_up',
           'report_count')
    assert {name: value for name, value in ours.items()
            if name not in own} == {
        name: value for name, value in theirs.items() if name not in own}
    assert ours['last_seen_up'] == ours['updated_at']


def test_service_leaves_host_discovery_to_an_earlier_nova_scheduler(nova):
    with nova.scheduler('c-nova') as other:
        processes.until(
            lambda: nova.records().get('c-nova', {}).get('last_seen_up'),
            'a heartbeat')
        with daemon(nova, 'd-ours') as program:
            nova.add_compute_node('by-nova')
            processes.until(lambda: 'Discovered 1 new hosts: cell1:by-nova'
                            in other.text, 'a mapped host')
            assert not program.lines('Discovered')


def test_nova_scheduler_takes_over_the_service_s_record(nova):
    """The record has the conductors' version; then Nova's own."""
    with nova.database('cell0') as connection:
        connection.execute(tables.services.insert().values(
            host='conductor', binary='nova-conductor', topic='conductor',
            report_count=0, disabled=False, forced_down=False, deleted=0,
            version=68))
    with daemon(nova, 'h-both'):
        made = nova.records()['h-both']
    assert made['version'] == 68
    with nova.scheduler('h-both') as other:
        processes.until(lambda: nova.records()['h-both']['report_count']
                        > made['report_count'], 'a heartbeat')
        assert 'ServiceTooOld' not in other.text
    taken = nova.records()['h-both']
    assert (taken['id'], taken['version']) == (made['id'], 74)
