"""Pings, refusals, casts, queues and keepalives of the service."""

import concurrent.futures
import os
import signal
import uuid

import oslo_messaging as messaging
import pytest

from nova_sched import context
from tests.builders import messages
from tests.builders import requests
from tests.functional import conftest
from tests.functional import processes
from tests.functional import stage as stages
from tests.functional.mariadb import MariaDB

pytestmark = pytest.mark.real

WORKERS = 2
#: Seconds without a sign of life after which callers give up.
MONITOR = 4


def client(stage, version, **target):
    """A client that sends any method and arguments."""
    return messages.raw_client(
        stage.transport(), version, exchange=stage.conf.control_exchange,
        **target).prepare(timeout=processes.PATIENCE)


def a_call():
    """Arguments of select_destinations for an instance."""
    return {'spec_obj': requests.a_request().obj_to_primitive(),
            'instance_uuids': [str(uuid.uuid4())], 'return_objects': True}


@pytest.fixture(scope='module')
def season(tmp_path_factory):
    """(Stage, daemon of two workers that logs casts)."""
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

    def test_fanout_cast_reaches_each_worker(self, stage, daemon):
        host = f'host-{uuid.uuid4().hex}'
        client(stage, '4.2').prepare(fanout=True).cast(
            context.RequestContext(), 'delete_instance_info',
            host_name=host, instance_uuid=str(uuid.uuid4()))
        lines = daemon.wait_for_lines(f'left host {host}', times=WORKERS)
        assert len(lines) == WORKERS


class TestKeepalives:
    @pytest.fixture
    def database(self):
        server = MariaDB('nova')
        server.start()
        yield server
        server.end()

    @pytest.fixture
    def stage(self, database, tmp_path):
        """A Stage with a daemon, on a database that can hang."""
        stage = stages.Stage(tmp_path, conftest.broker(), database.url)
        stage.cloud(4, live=False)
        self.daemon = stage.daemon(
            DEFAULT__service_down_time=10 ** 6,
            nova_sched__cell_timeout=processes.PATIENCE)
        yield stage
        stage.close()

    @pytest.fixture
    def ask(self, stage):
        """Function that sends a call: a future of its answer."""
        # To this daemon only, whichever else serves on this broker.
        caller = client(stage, '4.5', server=stage.conf.host).prepare(
            call_monitor_timeout=MONITOR, timeout=processes.PATIENCE)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            yield lambda: pool.submit(
                caller.call, context.RequestContext(), 'select_destinations',
                **a_call())

    def test_caller_waits_for_a_long_decision(self, ask, database):
        """Longer than for a service that does not answer."""
        assert ask().result()
        database.hang()
        answer = ask()
        with pytest.raises(TimeoutError):
            answer.result(1.5 * MONITOR)
        database.resume()
        [[selection]] = answer.result()
        assert selection['nova_object.name'] == 'Selection'

    def test_caller_gives_up_a_hanging_service_before_its_timeout(self, ask):
        assert ask().result()
        worker, = self.daemon.workers
        os.kill(worker, signal.SIGSTOP)
        try:
            with pytest.raises(messaging.MessagingTimeout):
                ask().result(processes.PATIENCE / 2)
        finally:
            os.kill(worker, signal.SIGCONT)
