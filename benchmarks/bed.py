"""The test bed: servers and clients on an existing broker and database."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import oslo_messaging as messaging
from oslo_utils import uuidutils
import psutil
import pymysql
import sqlalchemy as sa

from benchmarks import floor
from nova_sched import conf as config
from nova_sched import rpc
from nova_sched.cloud import fake as fake_cloud
from nova_sched.db import engine as db_engine
from nova_sched.db import reader
from nova_sched.db import schema

_OPTIONS = """
[DEFAULT]
transport_url = {transport_url}
host = benchmark
state_path = {directory}
# The fake compute services of a benchmark do not send heartbeats.
service_down_time = 864000
rpc_response_timeout = 120
[database]
connection = {database_url}
[scheduler]
driver = {driver}
workers = 1
[oslo_messaging_rabbit]
# One server, one connection: no need to keep reply queues of clients.
rabbit_transient_queues_ttl = 60
"""

#: Seconds of calls before a service is measured.
_WARM_UP = 5

_SPEC = json.loads(
    (pathlib.Path(__file__).parent / 'request.json').read_text())


def request(instances):
    """Return the arguments of one select_destinations call: dict.

    Plain JSON as a conductor sends it, for small instances, with alternates.
    """
    uuids = [uuidutils.generate_uuid() for _ in range(instances)]
    data = _SPEC['nova_object.data'] | {'instance_uuid': uuids[0],
                                        'num_instances': instances}
    return {'spec_obj': _SPEC | {'nova_object.data': data},
            'instance_uuids': uuids, 'return_objects': True,
            'return_alternates': True}


class Bed:
    """A broker and a database, and the measured programs.

    transport_url, database_url: of a real broker and an empty database.
    directory: for configuration, logs and decisions.
    more: further lines of the configuration.
    checkout: run the service of this checkout (pathlib.Path), which has a
        .venv; None for the checkout of this module.

    launcher: process id of the last program that was started.
    """

    launcher = None

    def __init__(self, transport_url, database_url, directory, more='',
                 checkout=None):
        self.transport_url, self.database_url = transport_url, database_url
        self._more, self._checkout = more, checkout
        self.directory = pathlib.Path(directory)
        self.conf = self.configuration('filter_scheduler')
        self.transport = rpc.get_transport(self.conf)

    def configuration(self, driver):
        """Return the ConfigOpts of the service under test."""
        return config.new_conf([], [str(self._config_file(driver))])

    def _config_file(self, driver):
        path = self.directory / f'{driver}.conf'
        path.write_text(_OPTIONS.format(
            driver=driver, transport_url=self.transport_url,
            database_url=self.database_url, directory=self.directory)
            + self._more)
        return path

    def make_cloud(self, hosts):
        """Fill the database with that many fake hosts."""
        schema.sync(self.conf)
        engine = db_engine.database(self.conf).engine
        fake_cloud.FakeCloud(engine, hosts).create()

    @contextlib.contextmanager
    def floor(self):
        """Run the floor server; yield a function that makes one call.

        Its keyword arguments become those of the RPC call.
        """
        client = messaging.get_rpc_client(
            self.transport, messaging.Target(topic=floor.TOPIC, version='1.0'))
        with self._module('floor', 'benchmarks.floor', self.transport_url):
            until(lambda: client.prepare(timeout=2).call({}, 'echo'))
            yield lambda **carried: client.call({}, 'echo', **carried)

    def service(self, driver):
        """Run the service; yield a function: number of instances -> call."""
        return self._called(driver, 'nova_sched.cmd.scheduler')

    @contextlib.contextmanager
    def serving(self):
        """Run the service with the caching driver; yield two functions.

        The first makes a call for a number of instances.  The second returns
        the milliseconds of all decisions so far: list.
        """
        path = self.directory / 'decisions'
        path.unlink(missing_ok=True)
        with self._called('caching_scheduler', 'benchmarks.serving',
                          str(path)) as call:
            yield call, lambda: [*map(float, path.read_text().split())]

    @contextlib.contextmanager
    def _called(self, driver, *program):
        """Like ``service``, with a module and its arguments as the service."""
        target = messaging.Target(topic=rpc.TOPIC, version='4.5')
        client = messaging.get_rpc_client(self.transport, target)

        def call(instances):
            answer = client.call({}, 'select_destinations',
                                 **request(instances))
            assert len(answer) == instances, answer

        ping = client.prepare(namespace='baseapi', version='1.0', timeout=2)
        python = (self._checkout / '.venv/bin/python' if self._checkout
                  else sys.executable)
        with self._running(driver, python, '-m', *program, '--config-file',
                           self._config_file(driver), cwd=self._checkout):
            until(lambda: ping.call({}, 'ping', arg=None))
            # The service rereads the hosts more often just after its start.
            end = time.monotonic() + _WARM_UP
            while time.monotonic() < end:
                call(1)
            yield call

    def compute_services(self):
        """Run fake compute services during a block."""
        return self._module('compute_services',
                            'benchmarks.compute_services', self.database_url)

    def _module(self, name, module, *args):
        """Run a Python module, with a log, during a block."""
        return self._running(name, sys.executable, '-m', module, *args)

    @contextlib.contextmanager
    def _running(self, name, *command, cwd=None):
        """Run a program, with a log, during a block."""
        with open(self.directory / f'{name}.log', 'w') as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True,
                cwd=cwd)
            self.launcher = process.pid
            try:
                yield
                assert process.poll() is None, f'{name} ended by itself'
            finally:
                end(process)

    def processor_seconds(self):
        """Return the processor time of the last program that was started.

        All its processes together, in seconds.
        """
        launcher = psutil.Process(self.launcher)
        times = [process.cpu_times() for process in (
            launcher, *launcher.children(recursive=True))]
        return sum(time.user + time.system for time in times)

    def bare_read(self):
        """Return a function that reads the rows of a refresh by a bare cursor.
        """
        url = sa.make_url(self.database_url)
        connection = pymysql.connect(
            host=url.host or 'localhost', port=url.port or 3306,
            user=url.username, password=url.password or '',
            database=url.database, autocommit=True,
            unix_socket=url.query.get('unix_socket'))
        nodes = ', '.join(reader.COMPUTE_NODE_COLUMNS)
        services = ', '.join(reader.SERVICE_COLUMNS)

        def read():
            with connection.cursor() as cursor:
                cursor.execute(f'SELECT {nodes} FROM compute_nodes '
                               'WHERE deleted = 0 ORDER BY id')
                cursor.fetchall()
                cursor.execute(f'SELECT {services} FROM services WHERE '
                               "deleted = 0 AND `binary` = 'nova-compute' "
                               'ORDER BY id')
                cursor.fetchall()
        return read


def until(call, seconds=120):
    """Repeat a call until its server is up, and return the result."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except messaging.MessagingException:
            if time.monotonic() > deadline:
                raise


def end(process):
    """End a program by SIGTERM, or by SIGKILL if that fails."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
