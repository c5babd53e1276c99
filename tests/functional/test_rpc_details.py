"""What callers and the broker see of the service besides its answers."""

import concurrent.futures
import os
import signal
import uuid

import kombu
import oslo_messaging as messaging
import pytest

from nova_sched import context
from tests.builders import messages
from tests.builders import requests
from tests.functional import broker
from tests.functional import conftest
from tests.functional import processes
from tests.functional import stage as stages
from tests.functional.mariadb import MariaDB

pytestmark = pytest.mark.real

WORKERS = 2
#: Seconds without a sign of life after which callers give up.
MONITOR = 4


def client(stage, version, **target):
    """A client that sends whatever it is told to."""
    return messages.raw_client(
        stage.transport(), version, exchange=stage.conf.control_exchange,
        **target).prepare(timeout=processes.PATIENCE)


def a_call():
    """Arguments of select_destinations for an instance."""
    return {'spec_obj': requests.a_request().obj_to_primitive(),
            'instance_uuids': [str(uuid.uuid4())], 'return_objects': True}


@pytest.fixture(scope='module')
def season(tmp_path_factory):
    """(Stage, daemon of two workers that tells which casts arrive)."""
    with conftest.open_stage(tmp_path_factory.mktemp('season')) as stage:
        stage.cloud(4)
        yield stage, stage.daemon(
            workers=WORKERS, DEFAULT__rpc_ping_enabled=True,
            DEFAULT__debug=True)


class TestMessages:
    @pytest.fixture
    def stage(self, season):
        with season[0].scene():
            yield season[0]

    @pytest.fixture
    def daemon(self, season):
        return season[1]

    @pytest.mark.parametrize('version', ['1.0', '1.1'])
    @pytest.mark.parametrize('arg', [None, 'text', {'any': ['thing', 1.5]}])
    def test_a_ping_comes_back(self, stage, version, arg):
        answer = client(stage, version, namespace='baseapi').call(
            context.RequestContext(), 'ping', arg=arg)
        assert answer == {'service': 'scheduler', 'arg': arg}

    @pytest.mark.parametrize(('namespace', 'version', 'method', 'refusal'), [
        (None, '4.5', 'no_such_method', 'NoSuchMethod'),
        (None, '4.5', 'ping', 'NoSuchMethod'),
        (None, '4.5', '_answer', 'NoSuchMethod'),
        (None, '4.5', '__init__', 'NoSuchMethod'),
        ('baseapi', '1.1', 'select_destinations', 'NoSuchMethod'),
        (None, '4.6', 'select_destinations', 'UnsupportedVersion'),
        (None, '5.0', 'select_destinations', 'UnsupportedVersion'),
        (None, '3.0', 'select_destinations', 'UnsupportedVersion'),
        ('baseapi', '1.2', 'ping', 'UnsupportedVersion'),
        ('baseapi', '2.0', 'ping', 'UnsupportedVersion'),
        ('elsewhere', '1.0', 'ping', 'UnsupportedVersion')])
    def test_what_is_not_offered_is_refused_by_name(
            self, stage, namespace, version, method, refusal):
        """With the class and the words that Nova's services have for it."""
        with pytest.raises(messaging.RemoteError) as refused:
            client(stage, version, namespace=namespace).call(
                context.RequestContext(), method)
        words = {'NoSuchMethod': f'method {method}',
                 'UnsupportedVersion': f'version {version}. Attempted method: '
                                       f'{method}'}
        assert refused.value.exc_type == refusal
        assert refused.value.value == (
            f'Endpoint does not support RPC {words[refusal]}')

    def test_a_cast_to_all_reaches_every_worker(self, stage, daemon):
        host = f'host-{uuid.uuid4().hex}'
        client(stage, '4.2').prepare(fanout=True).cast(
            context.RequestContext(), 'delete_instance_info',
            host_name=host, instance_uuid=str(uuid.uuid4()))
        lines = daemon.wait_for_lines(f'left host {host}', times=WORKERS)
        assert len(lines) == WORKERS

    def test_queues_and_exchanges_are_declared_as_novas_are(self, stage):
        """Else one of the two could not start beside the other."""
        exchange = stage.conf.control_exchange
        with kombu.Connection(broker.plain_url(stage.transport_url)) as bus:
            channel = bus.default_channel
            for name in ('scheduler', f'scheduler.{stage.conf.host}'):
                channel.queue_declare(name, durable=False, auto_delete=False)
            channel.exchange_declare(exchange, 'topic', durable=False,
                                     auto_delete=False)
            channel.exchange_declare('scheduler_fanout', 'fanout',
                                     durable=False, auto_delete=True)


class TestKeepalives:
    @pytest.fixture
    def database(self):
        server = MariaDB('nova')
        server.start()
        yield server
        server.end()

    @pytest.fixture
    def stage(self, database, tmp_path):
        """A Stage on a database that can hang, with a daemon on it."""
        stage = stages.Stage(tmp_path, conftest.broker(), database.url)
        stage.cloud(4, live=False)
        self.daemon = stage.daemon(
            DEFAULT__service_down_time=10 ** 6,
            nova_sched__cell_timeout=processes.PATIENCE)
        yield stage
        stage.close()

    @pytest.fixture
    def ask(self, stage):
        """Function that begins a call: a future of its answer."""
        # Whoever else serves on this broker is not to take it.
        caller = client(stage, '4.5', server=stage.conf.host).prepare(
            call_monitor_timeout=MONITOR, timeout=processes.PATIENCE)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            yield lambda: pool.submit(
                caller.call, context.RequestContext(), 'select_destinations',
                **a_call())

    def test_callers_wait_for_a_decision_that_takes_long(self, ask, database):
        """Longer than they would wait for a service that is not there."""
        assert ask().result()
        database.hang()
        answer = ask()
        with pytest.raises(TimeoutError):
            answer.result(1.5 * MONITOR)
        database.resume()
        [[selection]] = answer.result()
        assert selection['nova_object.name'] == 'Selection'

    def test_callers_give_up_a_service_that_hangs(self, ask):
        """Long before their time is out."""
        assert ask().result()
        worker, = self.daemon.workers
        os.kill(worker, signal.SIGSTOP)
        try:
            with pytest.raises(messaging.MessagingTimeout):
                ask().result(processes.PATIENCE / 2)
        finally:
            os.kill(worker, signal.SIGCONT)
