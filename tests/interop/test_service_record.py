"""What the service writes into Nova's own databases, as Nova 34 sees it."""

import contextlib
import os
import pathlib
import subprocess

import pytest
import sqlalchemy as sa

from nova_sched.db import tables
from tests.builders import clouds
from tests.functional import conftest as functional
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

TOP = pathlib.Path(__file__).parent.parent.parent
#: Seconds for one of Nova's programs to do its work.
PATIENCE = 120


class RealNova:
    """Databases that nova-manage makes, and programs of Nova on them.

    directory: for files.  transport_url: of the message bus.
    databases: URLs of three empty ones: api, cell0 and cell1.
    """

    def __init__(self, directory, transport_url, databases):
        self._directory, self._bin = directory, pathlib.Path(os.environ.get(
            'NOVA_SCHED_TEST_NOVA', TOP / '.venv-nova/bin/python')).parent
        assert (self._bin / 'nova-manage').exists(), (
            f'{self._bin} has no nova-manage: tools/nova-venv.sh installs it')
        self._databases = databases
        self.options = {
            'DEFAULT__transport_url': transport_url,
            'DEFAULT__state_path': directory,
            'DEFAULT__periodic_fuzzy_delay': 0,
            'DEFAULT__report_interval': 1,
            'scheduler__discover_hosts_in_cells_interval': 1,
            'scheduler__workers': 1,
            'oslo_concurrency__lock_path': directory,
            'placement__auth_type': 'none',
            'placement__endpoint_override': 'http://127.0.0.1:1',
            'api_database__connection': databases['api'],
            'database__connection': databases['cell0']}

    def config_file(self, name, **options):
        return stages.write_config(self._directory / f'{name}.conf',
                                   **{**self.options, **options})

    def make(self):
        """The tables, and a cell of the name one."""
        self.manage('api_db', 'sync')
        self.manage('cell_v2', 'map_cell0', '--database_connection',
                    self._databases['cell0'])
        self.manage('db', 'sync')
        self.manage('cell_v2', 'create_cell', '--name', 'one',
                    '--database_connection', self._databases['cell1'],
                    '--transport-url', self.options['DEFAULT__transport_url'])
        self.manage('db', 'sync', '--local_cell',
                    database__connection=self._databases['cell1'])

    def manage(self, *words, **options):
        """What nova-manage prints."""
        done = subprocess.run(
            [self._bin / 'nova-manage', '--config-file',
             self.config_file('manage', **options), *words],
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr[-2000:])
        return done.stdout

    @contextlib.contextmanager
    def scheduler(self, host):
        """A nova-scheduler for a block; function that returns its log."""
        log = self._directory / f'{host}.log'
        config = self.config_file(host, DEFAULT__host=host,
                                  DEFAULT__debug='true')
        with log.open('wb') as output:
            process = subprocess.Popen(
                [self._bin / 'nova-scheduler', '--config-file', config],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True)
        try:
            yield lambda: log.read_text(errors='replace')
        finally:
            process.terminate()
            process.wait(PATIENCE)

    @contextlib.contextmanager
    def database(self, name):
        """A connection in a transaction."""
        engine = sa.create_engine(
            sa.make_url(self._databases[name]).set(
                drivername='mysql+pymysql'))
        with engine.begin() as connection:
            yield connection
        engine.dispose()

    def records(self):
        """Rows of schedulers: dict host -> row."""
        with self.database('cell0') as connection:
            return {row['host']: dict(row) for row in connection.execute(
                sa.text('SELECT * FROM services')).mappings()}

    def add_compute_node(self, host):
        with self.database('cell1') as connection:
            connection.execute(tables.compute_nodes.insert().values(
                clouds.a_compute_node(host, mapped=0)))


@pytest.fixture(scope='module')
def deployment(tmp_path_factory):
    made = {name: functional.new_database()
            for name in ('api', 'cell0', 'cell1')}
    nova = RealNova(tmp_path_factory.mktemp('nova'), functional.broker(),
                    {name: url for name, (url, _drop) in made.items()})
    nova.make()
    yield nova
    for _url, drop in made.values():
        drop()


@pytest.fixture
def nova(deployment):
    """A Nova in which no scheduler has been up lately."""
    with deployment.database('cell0') as connection:
        connection.execute(tables.services.delete())
    return deployment


@contextlib.contextmanager
def daemon(nova, host):
    """The service beside this Nova, for a block."""
    config = nova.config_file(f'ours-{host}', DEFAULT__host=host,
                              DEFAULT__debug='true')
    with processes.running('nova-sched', ['--config-file', config],
                           config.with_suffix('.log')) as program:
        program.wait_until_said('Serving requests')
        yield program


def test_nova_takes_the_service_for_a_scheduler_that_is_up(nova):
    """It leaves to it what is for the first of the schedulers that are."""
    with daemon(nova, 'a-ours'), nova.scheduler('b-nova') as log:
        processes.until(lambda: 'Current leader is a-ours' in log(),
                        'a leader', PATIENCE)
        nova.add_compute_node('by-ours')
        processes.until(lambda: 'by-ours' in nova.manage(
            'cell_v2', 'list_hosts'), 'a mapped host', PATIENCE)
        assert 'Discovered' not in log()
        ours, theirs = (nova.records()[host] for host in ('a-ours', 'b-nova'))
    own = ('id', 'uuid', 'host', 'created_at', 'updated_at', 'last_seen_up',
           'report_count')
    assert {name: value for name, value in ours.items()
            if name not in own} == {
        name: value for name, value in theirs.items() if name not in own}
    assert ours['last_seen_up'] == ours['updated_at']


def test_the_service_leaves_the_lead_to_a_nova_scheduler_before_it(nova):
    with nova.scheduler('c-nova') as log:
        processes.until(
            lambda: nova.records().get('c-nova', {}).get('last_seen_up'),
            'a heartbeat', PATIENCE)
        with daemon(nova, 'd-ours') as program:
            nova.add_compute_node('by-nova')
            processes.until(lambda: 'Discovered 1 new hosts: one:by-nova'
                            in log(), 'a mapped host', PATIENCE)
            assert not program.said('Discovered')


def test_nova_takes_over_once_the_service_is_disabled(nova):
    with daemon(nova, 'e-ours') as program, nova.scheduler('f-nova') as log:
        with nova.database('cell0') as connection:
            connection.execute(sa.text(
                'UPDATE services SET disabled = (host = :host)'),
                {'host': 'e-ours'})
        program.wait_until_said('Not looking for new hosts')
        nova.add_compute_node('by-the-other')
        processes.until(lambda: 'one:by-the-other' in log(),
                        'a mapped host', PATIENCE)
        assert nova.records()['e-ours']['disabled']


def test_a_stopped_service_leaves_its_record_as_nova_does(nova):
    with daemon(nova, 'g-ours') as program:
        processes.until(lambda: nova.records()['g-ours']['report_count'],
                        'a heartbeat')
        status, _seconds = program.stop()
    assert status == 0
    record = nova.records()['g-ours']
    assert not record['deleted']
    assert not record['disabled']
