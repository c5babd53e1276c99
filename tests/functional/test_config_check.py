"""nova-sched-manage config check --connect, on a real broker and databases."""

import contextlib
import json
import socket

import kombu
import pytest
import sqlalchemy as sa

from nova_sched import conf as config
from nova_sched.db import cells
from nova_sched.db import tables
from nova_sched.preflight import connectivity
from nova_sched.preflight.rows import Row
from nova_sched.preflight.startup import Setup
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders.http_server import Answer
from tests.builders.mapped_cloud import CELL1
from tests.functional import broker as wire
from tests.functional import cell_databases
from tests.functional import conftest as functional
from tests.functional import mariadb
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

SECRETS = ('open-sesame', 'pl%C3%A4n', 'plän')
CELL = f'cell {CELL1}(one)'
NODES = {host: clouds.a_uuid(number)
         for number, host in enumerate(('host1', 'host2'), 1)}


class Deployment:
    """A cloud of one cell with its files, for tests to change and check.

    options: of the configuration file, as ``group__option``.
    urls: of the databases api, cell0 and one.
    """

    def __init__(self, directory, broker, urls, placement):
        self._file = directory / 'nova.conf'
        self.urls, self.placement = urls, placement
        self.options = {
            'DEFAULT__transport_url': broker, 'DEFAULT__host': 'ours',
            'api_database__connection': urls['api'],
            'database__connection': urls['cell0'],
            'nova_sched__cell_timeout': 5,
            'placement__auth_type': 'admin_token',
            'placement__token': 'open-sesame',
            'placement__endpoint': placement.url,
            'placement__timeout': 5}

    def make(self):
        """Replace all rows by one cell and its hosts."""
        cell_databases.fill(self.urls['cell0'])
        cell_databases.fill(self.urls['one'], NODES)
        cell_databases.fill(self.urls['api'], cells=[
            (cells.CELL0_UUID, 'cell0', self.urls['cell0']),
            (CELL1, 'one', self.urls['one'])])
        cell = tables.cell_mappings.c
        with self.database('api') as connection:
            for host in NODES:
                connection.execute(tables.host_mappings.insert().values(
                    host=host, cell_id=sa.select(cell.id).where(
                        cell.uuid == CELL1).scalar_subquery()))
        self.placement.on('GET', '/resource_providers', Answer(body={
            'resource_providers': [
                {'uuid': uuid} for uuid in NODES.values()]}))
        self.placement.on(
            'GET', '/allocation_candidates', http_placement.candidates(
                http_placement.a_candidate(NODES['host1'])))

    @contextlib.contextmanager
    def database(self, name):
        """A connection to a database, in a transaction."""
        engine = sa.create_engine(self.urls[name])
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    def check(self, **options):
        """Check the service's dependencies: rows, none with a secret.

        options: override the deployment's.
        """
        file = stages.write_config(self._file, **self.options | options)
        found = connectivity.check(Setup(config.new_conf([], [str(file)])))
        assert not [word for word in SECRETS if word in str(found)]
        return found

    def command(self, *words, **options):
        """Run the command; return its status and rows; see ``check``."""
        stages.write_config(self._file, **self.options | options)
        status, output, errors = processes.run(
            'nova-sched-manage', '--config-file', self._file, 'config',
            'check', '-f', 'json', '--connect', *words)
        assert not [word for word in SECRETS if word in output + errors]
        assert errors == ''
        return status, [Row(*row.values()) for row in json.loads(output)]


    @contextlib.contextmanager
    def live(self, workers=1, **options):
        """A service on the deployment, while its workers serve."""
        file = stages.write_config(
            self._file.with_name('live.conf'), scheduler__workers=workers,
            **self.options | options)
        with processes.running('nova-sched', ['--config-file', file],
                               file.with_suffix('.log')) as live:
            live.wait_for_lines('Serving requests', times=workers)
            yield live


@pytest.fixture(scope='module')
def urls():
    """URLs of empty databases, by name."""
    with cell_databases.new(3) as found:
        yield dict(zip(('api', 'cell0', 'one'), found, strict=True))


@pytest.fixture
def deployment(tmp_path, urls):
    with http_placement.placement() as placement:
        made = Deployment(tmp_path, functional.broker(), urls, placement)
        made.make()
        yield made


def troubles(rows):
    """The rows that are not ok: list of (check, outcome).

    Without the row about settings of the tests' MariaDB.
    """
    return [(row.check, row.outcome) for row in rows
            if row.outcome != 'ok' and row.check != 'MariaDB']


def first(rows, check):
    """The first row of a check."""
    return next(row for row in rows if row.check == check)


def snapshot(deployment):
    """All rows of all databases."""
    found = {}
    for name in deployment.urls:
        with deployment.database(name) as connection:
            for table in tables.metadata.sorted_tables:
                found[name, table.name] = connection.execute(
                    table.select()).all()
    return found


def test_working_deployment_has_good_rows_and_is_not_changed(deployment):
    before = snapshot(deployment)
    status, rows = deployment.command()

    assert troubles(rows) == []
    assert status == 0
    assert [row.check for row in rows if row.check in (
        'API database', 'database', CELL, 'broker', 'queue scheduler',
        'Placement', 'Placement candidates', 'Placement providers',
        'Neutron')] == [
        'API database', 'database', CELL, 'broker', 'queue scheduler',
        'Placement', 'Placement candidates', 'Placement providers',
        'Neutron']
    assert '2 cell mappings, 2 host mappings' in first(
        rows, 'API database').found
    assert 'the database of cell cell0' in first(rows, 'database').found
    assert '2 up, 0 disabled, 0 down' in first(rows, CELL).found
    assert 'does not exist yet' in first(rows, 'queue scheduler').found
    assert snapshot(deployment) == before
    assert {asked.method for asked in deployment.placement.asked} == {'GET'}
    # The check has not declared the queue.
    assert 'does not exist yet' in first(
        deployment.check(), 'queue scheduler').found


def test_hanging_cell_is_given_up_and_hides_no_other(deployment):
    """Its server accepts connections and never answers."""
    with socket.create_server(('127.0.0.1', 0)) as silent:
        with deployment.database('api') as connection:
            connection.execute(tables.cell_mappings.insert().values(
                uuid='c3', name='three', database_connection=(
                    'mysql+pymysql://nova:open-sesame@127.0.0.1:'
                    f'{silent.getsockname()[1]}/nova')))
        rows = deployment.check(nova_sched__cell_timeout=10)

    assert troubles(rows) == [('cell c3(three)', 'error')]
    assert 'no answer within 10 seconds' in first(rows, 'cell c3(three)').found


@pytest.mark.parametrize('parts, words, advice', [
    ({'password': 'open-sesame'}, 'ACCESS_REFUSED',
     'Check user and password in [DEFAULT] transport_url'),
    ({'database': 'no-such-host'}, 'no-such-host',
     'Check the virtual host in [DEFAULT] transport_url'),
    ({'port': 1}, 'refused', 'Check that it runs'),
    ({'host': 'no-such-host.invalid'}, '',
     'Check the host name in [DEFAULT] transport_url')])
def test_refusing_broker_has_an_error_row_and_hides_no_other(
        deployment, parts, words, advice):
    url = sa.make_url(deployment.options['DEFAULT__transport_url']).set(
        **parts).render_as_string(hide_password=False)
    rows = deployment.check(DEFAULT__transport_url=url)

    assert troubles(rows) == [('broker', 'error')]
    assert words in first(rows, 'broker').found
    assert advice in first(rows, 'broker').advice


def test_broker_without_tls_has_an_error_row(deployment):
    rows = deployment.check(oslo_messaging_rabbit__ssl='true')

    assert troubles(rows) == [('broker', 'error')]
    assert '[oslo_messaging_rabbit]' in first(rows, 'broker').advice


def test_serving_scheduler_has_warning_rows(deployment):
    """For its consumers of the queue, and for its service record."""
    with deployment.live(2, DEFAULT__host='live',
                         **rabbit(rabbit_transient_queues_ttl=60)):
        rows = processes.until(lambda: _served_by_two(deployment),
                               'two consumers')

    assert troubles(rows) == [('other schedulers', 'warning'),
                              ('queue scheduler', 'warning')]
    assert 'on host live' in first(rows, 'other schedulers').found


def _served_by_two(deployment):
    """The rows if two workers consume the queue, else None."""
    rows = deployment.check()
    found = first(rows, 'queue scheduler').found
    return rows if found.startswith('2 consumers') else None


#: What a server with its own exchange and topic declares: (kind, name).
EXCHANGE, FANOUT = ('exchange', 'elsewhere'), ('exchange', 'tasks_fanout')
QUEUE, OWN_QUEUE = ('queue', 'tasks'), ('queue', 'tasks.ours')
OTHERWISE = {'DEFAULT__control_exchange': 'elsewhere',
             'DEFAULT__scheduler_topic': 'tasks'}


class Declared:
    """Exchanges and queues of a broker, by (kind, name)."""

    def __init__(self, url):
        self._connection = kombu.Connection(wire.plain_url(url))

    def make(self, what, **arguments):
        kind, name = what
        if what == FANOUT:
            arguments = {'type': 'fanout', 'auto_delete': True} | arguments
        elif kind == 'exchange':
            arguments = {'type': 'topic'} | arguments
        with self._connection.channel() as channel:
            getattr(channel, f'{kind}_declare')(name, **{
                'durable': False, 'auto_delete': False} | arguments)

    def delete(self, what):
        kind, name = what
        with self._connection.channel() as channel:
            getattr(channel, f'{kind}_delete')(name)

    def has(self, what):
        kind, name = what
        more = {'type': 'topic'} if kind == 'exchange' else {}
        with self._connection.channel() as channel:
            try:
                getattr(channel, f'{kind}_declare')(name, passive=True, **more)
            except self._connection.channel_errors:
                return False
        return True

    def names(self):
        return {what for what in (EXCHANGE, FANOUT, QUEUE, OWN_QUEUE)
                if self.has(what)}

    def close(self):
        for what in (EXCHANGE, FANOUT, QUEUE, OWN_QUEUE):
            self.delete(what)
        self._connection.release()


@pytest.fixture
def declared(deployment):
    """The Declared of the server of OTHERWISE; nothing exists at first."""
    deployment.options |= OTHERWISE
    found = Declared(deployment.options['DEFAULT__transport_url'])
    yield found
    found.close()


def rabbit(**options):
    return {f'oslo_messaging_rabbit__{name}': value
            for name, value in options.items()}


QUORUM = {'durable': True, 'arguments': {'x-queue-type': 'quorum'}}


@pytest.mark.parametrize('what, there, options, words, advice', [
    (EXCHANGE, {'durable': True}, {}, "'durable'", 'amqp_durable_queues'),
    (EXCHANGE, {'auto_delete': True}, {}, "'auto_delete'",
     'amqp_auto_delete'),
    (EXCHANGE, {'type': 'direct'}, {}, "'type'", 'control_exchange'),
    (QUEUE, {'durable': True}, {}, "'durable'", 'amqp_durable_queues'),
    (OWN_QUEUE, {'durable': True}, {}, "'durable'", 'rabbit_quorum_queue'),
    (QUEUE, {}, {'amqp_durable_queues': True}, "'durable'",
     'amqp_durable_queues'),
    (QUEUE, {}, {'amqp_auto_delete': True}, "'auto_delete'",
     'amqp_auto_delete'),
    (QUEUE, QUORUM, {}, "'durable'", 'rabbit_quorum_queue'),
    (QUEUE, QUORUM, {'amqp_durable_queues': True}, "'x-queue-type'",
     'rabbit_quorum_queue'),
    (QUEUE, {'durable': True}, {'rabbit_quorum_queue': True},
     "'x-queue-type'", 'rabbit_quorum_queue'),
    (QUEUE, QUORUM, {'rabbit_quorum_queue': True,
                     'rabbit_quorum_delivery_limit': 3},
     "'x-delivery-limit'", 'rabbit_quorum_delivery_limit'),
    (QUEUE, {'arguments': {'x-expires': 60000}}, {}, "'x-expires'",
     'delete it'),
    (FANOUT, {'durable': True}, {}, "'durable'",
     'rabbit_transient_quorum_queue'),
    (FANOUT, {}, {'rabbit_transient_quorum_queue': True,
                  'rabbit_quorum_queue': True},
     "'durable'", 'rabbit_transient_quorum_queue')])
def test_queue_or_exchange_declared_otherwise_is_an_error_and_stays(
        deployment, declared, what, there, options, words, advice):
    """The service would retry its declaration forever."""
    declared.make(what, **there)
    rows = deployment.check(**rabbit(**options))

    assert troubles(rows) == [(' '.join(what), 'error')]
    row = next(row for row in rows if row.outcome == 'error')
    assert f'PRECONDITION_FAILED - inequivalent arg {words}' in row.found
    assert advice in row.advice
    assert declared.names() == {what}
    declared.make(what, **there)


@pytest.mark.parametrize('options, form', [
    ({}, {}), ({'amqp_durable_queues': True}, {'durable': True}),
    ({'amqp_auto_delete': True}, {'auto_delete': True}),
    ({'rabbit_quorum_queue': True}, QUORUM),
    ({'rabbit_ha_queues': True}, {'arguments': {'x-ha-policy': 'all'}})])
def test_queues_and_exchanges_declared_alike_are_ok(
        deployment, declared, options, form):
    declared.make(QUEUE, **form)
    declared.make(OWN_QUEUE, **form)
    declared.make(EXCHANGE, **form | {'arguments': None})
    declared.make(FANOUT)

    assert troubles(deployment.check(**rabbit(**options))) == []


def test_declarations_of_a_service_are_ok(deployment, declared):
    options = rabbit(amqp_durable_queues=True, rabbit_transient_queues_ttl=60)
    with deployment.live(**options) as live:
        live.stop()
    assert declared.names() >= {EXCHANGE, QUEUE, OWN_QUEUE}
    found = deployment.check(**options)
    other = deployment.check()

    assert [row for row in found if row.outcome == 'error'] == []
    assert [row.check for row in other if row.outcome == 'error'] == [
        'exchange elsewhere', 'queue tasks', 'queue tasks.ours']


def test_exchange_that_is_not_durable_is_a_warning_and_used(
        deployment, declared):
    """The service declares its queues not durable, either."""
    options = rabbit(amqp_durable_queues=True)
    declared.make(EXCHANGE)
    # The row about MariaDB's settings does not matter here.
    [row] = [row for row in deployment.check(**options)
             if row.outcome != 'ok' and row.check != 'MariaDB']
    assert (row.check, row.outcome) == ('exchange elsewhere', 'warning')
    assert 'not durable' in row.found
    assert 'amqp_durable_queues' in row.advice

    with deployment.live(**options) as live:
        assert [row.outcome for row in deployment.check(**options)
                if row.check == 'exchange elsewhere'] == ['warning']
        live.stop()


def test_durable_queue_with_an_exchange_that_is_not_is_an_error(
        deployment, declared):
    declared.make(EXCHANGE)
    declared.make(QUEUE, durable=True)

    assert troubles(deployment.check(**rabbit(amqp_durable_queues=True))) == [
        ('exchange elsewhere', 'error')]


def test_each_server_that_is_down_has_an_error_row(deployment):
    """With secrets in all options, none of which is printed."""
    status, rows = deployment.command(
        '--from', 'queens',
        DEFAULT__transport_url='rabbit://nova:open-sesame@127.0.0.1:1/',
        api_database__connection='mysql://nova:open-sesame@127.0.0.1:1/a',
        database__connection='mysql://nova:open-sesame@127.0.0.1:1/b',
        placement__endpoint='http://127.0.0.1:1',
        service_user__auth_type='password',
        service_user__password='open-sesame',
        trusted_computing__attestation_auth_blob='open-sesame')

    assert status == 1
    assert [check for check, outcome in troubles(rows)
            if outcome == 'error'] == [
        'API database', 'database', 'cells', 'broker', 'Placement', 'verdict']
    assert all(row.advice for row in rows
               if row.outcome == 'error' and row.check != 'verdict')
    assert [row for row in rows if row.outcome == 'differs']


def test_mariadb_that_lets_placement_overcommit_is_reported(deployment):
    def reports(server):
        return [row.found for row in deployment.check(
            api_database__connection=server.url) if row.check == 'MariaDB']

    server = mariadb.MariaDB('nova_api')
    try:
        server.start()
        [report] = reports(server)
        server.execute('SET GLOBAL innodb_snapshot_isolation = ON')
        after = reports(server)
    finally:
        server.end()

    assert 'innodb_snapshot_isolation = OFF' in report
    assert after == []
