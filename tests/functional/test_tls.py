"""TLS to the message broker, the database and Placement.

Each requires client certificates, and has a certificate for ``localhost``.
Each fault is logged; nothing hangs, no worker dies.
"""

import contextlib

import kombu
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.db import engine
from tests.builders import authority
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders import https
from tests.builders import messages
from tests.functional import conftest
from tests.functional import processes
from tests.functional import stage as stages
from tests.functional import tls
from tests.functional.conftest import HOSTS

pytestmark = pytest.mark.real

STRANGER = 'self-signed certificate in certificate chain'
EXPIRED = 'certificate has expired'
WRONG_NAME = "certificate is not valid for '127.0.0.1'"
NO_CERTIFICATE = 'handshake failure'


class World:
    """A trusted authority, and one that is not trusted.

    server, expired, client: authority.Issued of the trusted authority.
    """

    def __init__(self, directory):
        self.ours = authority.Authority(directory / 'ours')
        self.theirs = authority.Authority(directory / 'theirs')
        self.server = self.ours.issue('localhost')
        self.expired = self.ours.issue('localhost', expired=True)
        self.client = self.ours.issue('scheduler')


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp('certificates'))


@pytest.fixture(scope='module')
def broker(world):
    server = tls.RabbitMQ(world.ours, world.server)
    server.start()
    yield server
    server.end()


@pytest.fixture(scope='module')
def database(world, tmp_path_factory):
    server = tls.MariaDB('nova_tls', tmp_path_factory.mktemp('mariadb'),
                         world.ours)
    server.start(world.server)
    yield server
    server.end()


@pytest.fixture
def placement(world):
    server = https.Server(world.server, clients_of=world.ours)
    with http_placement.placement(server=server):
        server.on('GET', '/allocation_candidates', http_placement.candidates(
            *map(http_placement.a_candidate, HOSTS.values())))
        yield server


@pytest.fixture
def door_with_expired(world):
    """A server with an expired certificate, for any protocol."""
    with https.Server(world.expired).running() as server:
        yield server


def check_runs_and_stop(daemon):
    """Check that a daemon has one worker, and stops by SIGTERM."""
    assert len(daemon.workers) == 1
    status, seconds = daemon.stop()
    assert status == 0
    assert seconds < processes.SOON
    assert not daemon.lines('Traceback')
    assert not daemon.lines(tls.PASSWORD)


class TestBroker:
    def options(self, world, broker, **changes):
        """Options of a service on the broker, with changes to TLS or URL."""
        values = {'ssl': True, 'ssl_ca_file': world.ours.file,
                  'ssl_cert_file': world.client.certificate,
                  'ssl_key_file': world.client.key} | changes
        return {'DEFAULT__transport_url': values.pop('url', broker.url()),
                **{f'oslo_messaging_rabbit__{name}': value
                   for name, value in values.items()}}

    def test_calls_are_answered_over_tls(self, stage, world, broker):
        options = self.options(world, broker)
        stage.cloud(4)
        daemon = stage.daemon(**options)
        assert stage.client(**options).pick()
        check_runs_and_stop(daemon)

    def test_untrusted_broker_is_retried(self, stage, world, broker):
        """Each try is logged."""
        stage.cloud(4)
        daemon = stage.start(**self.options(
            world, broker, ssl_ca_file=world.theirs.file))
        lines = daemon.wait_for_lines('Connection failed', times=2)
        assert STRANGER in lines[0]
        daemon.wait_for_lines('does not answer yet')
        check_runs_and_stop(daemon)

    @pytest.mark.parametrize(('wrong', 'words'), [
        ('authority', STRANGER), ('name', WRONG_NAME), ('expired', EXPIRED),
        ('no certificate', NO_CERTIFICATE)])
    def test_fault_is_named(self, stage, world, broker, wrong, words,
                            door_with_expired):
        """The caller's error names it, too; a caller may limit its retries."""
        changes = {
            'authority': {'ssl_ca_file': world.theirs.file},
            'name': {'url': broker.url('127.0.0.1')},
            'expired': {'url': broker.url(port=door_with_expired.port)},
            'no certificate': {'ssl_cert_file': '', 'ssl_key_file': ''}}
        caller = messages.raw_client(stage.transport(**self.options(
            world, broker, **changes[wrong])), '4.5')
        with pytest.raises(kombu.exceptions.OperationalError, match=words):
            caller.prepare(retry=1).cast(context.RequestContext(), 'ping')


class TestDatabase:
    def query(self, world, **changes):
        """The query of a URL, with changes; None leaves a key out."""
        values = {'ssl_ca': world.ours.file,
                  'ssl_cert': world.client.certificate,
                  'ssl_key': world.client.key} | changes
        return {name: value for name, value in values.items() if value}

    def test_database_is_read_over_tls(self, tmp_path, world, database):
        stage = stages.Stage(tmp_path, conftest.broker(), database.url)
        with contextlib.closing(stage):
            stage.cloud(4)
            daemon = stage.daemon(database__connection=database.tls_url(
                **self.query(world)))
            assert stage.client().pick()
            check_runs_and_stop(daemon)

    def test_untrusted_database_is_retried(self, stage, world, database):
        """Each try is logged."""
        daemon = stage.start(
            database__retry_interval=1, database__connection=database.tls_url(
                **self.query(world, ssl_ca=world.theirs.file)))
        lines = daemon.wait_for_lines('Attempt', times=2)
        assert STRANGER in lines[0]
        check_runs_and_stop(daemon)

    @pytest.mark.parametrize(('wrong', 'words'), [
        ('authority', STRANGER), ('name', WRONG_NAME), ('expired', EXPIRED),
        ('no certificate', 'Access denied'), ('no TLS', 'Access denied')])
    def test_fault_is_named(self, world, database, wrong, words):
        changes = {
            'authority': {'ssl_ca': world.theirs.file},
            'no certificate': {'ssl_cert': None, 'ssl_key': None},
            'no TLS': dict.fromkeys(('ssl_ca', 'ssl_cert', 'ssl_key'))}
        asked = engine.Database(database.tls_url(
            '127.0.0.1' if wrong == 'name' else 'localhost',
            **self.query(world, **changes.get(wrong, {}))))
        if wrong == 'expired':
            database.show(world.expired)
        try:
            with pytest.raises(exception.DatabaseUnavailable, match=words):
                asked.check()
        finally:
            database.show(world.server)


class TestPlacement:
    @pytest.fixture
    def serve(self, stage, world, placement):
        """Function that starts a daemon with changes to [placement]."""
        stage.load(clouds.a_cloud(HOSTS))

        def serve(**changes):
            options = {'auth_type': 'none', 'timeout': 5,
                       'endpoint_override': placement.url,
                       'cafile': world.ours.file,
                       'certfile': world.client.certificate,
                       'keyfile': world.client.key} | changes
            return stage.daemon(DEFAULT__service_down_time=10 ** 9, **{
                f'placement__{name}': value
                for name, value in options.items()})
        return serve

    def test_claims_are_sent_over_tls(self, stage, placement, serve):
        daemon = serve()
        assert stage.client().pick() in HOSTS
        assert placement.to('PUT', '/allocations/')
        check_runs_and_stop(daemon)

    def test_untrusted_placement_is_logged_and_the_request_refused(
            self, stage, world, placement, serve):
        """Unit tests of the client have the other faults."""
        daemon = serve(cafile=world.theirs.file)
        with pytest.raises(exception.NoValidHost):
            stage.client().ask()
        assert any(STRANGER in line for line in daemon.lines(
            'There is no TLS connection for placement API'))
        assert not placement.asked
        check_runs_and_stop(daemon)
