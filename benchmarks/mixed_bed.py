"""Five schedulers of three kinds on one queue, and parts that can fail.

A broker, a Placement and two cells, each with its own MariaDB, can be stopped,
suspended and started again.  The API database and Placement's are on one more
MariaDB, which always runs.
"""

import contextlib
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import time

import oslo_messaging as messaging
import sqlalchemy as sa

from nova_sched import conf as config
from nova_sched import context
from nova_sched import objects
from nova_sched import rpc
from nova_sched.scheduler.client import query
from tests.builders import clouds
from tests.functional import mariadb
from tests.functional import processes
from tests.functional import rabbitmq
from tests.functional import stage
from tests.interop import dumps
from tests.interop import placement as placements
from tests.interop import rig_databases

TOP = pathlib.Path(__file__).parents[1]
CELLS = ('one', 'two')
#: VCPUs of a host (an instance has one or two), and MiB per VCPU.
SLOTS, MEMORY = 4, 512
#: Time-outs in seconds: of all schedulers for Placement, of ours for a cell.
TIMEOUT = 5
#: Number of Placement's processes.
_PROCESSES = 2
_TRAITS = ('COMPUTE_NODE', 'OWNER_NOVA')
_OPTIONS = {
    # The compute services send no heartbeats.
    'DEFAULT__service_down_time': 864000,
    'scheduler__workers': 1,
    'filter_scheduler__enabled_filters': (
        'ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,'
        'ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter'),
    # The compute services do not send their instances to schedulers.
    'filter_scheduler__track_instance_changes': 'false',
    'placement__timeout': TIMEOUT,
}
_OURS = {'nova_sched__cell_timeout': TIMEOUT}
#: The log then names each request; by default it does not.
_NOVAS = {'DEFAULT__default_log_levels': (
    'nova.scheduler.manager=DEBUG,amqp=WARN,sqlalchemy=WARN,'
    'oslo.messaging=INFO,keystoneauth=WARN,urllib3=WARN')}
_SERVES = 60    # time-out in seconds for the start of a scheduler


class Scheduler(processes.Program):
    """A daemon that can be started several times.

    name: its host name.  command: command line, without options.
    conf: path of its configuration.  checkout: directory of the program, for
    one of ours.
    """

    def __init__(self, name, command, conf, checkout=None):
        self.name, self.log = name, conf.with_suffix('.log')
        self._command = [*command, '--config-file', conf]
        self._checkout = checkout
        self.ours = checkout is not None

    def start(self):
        """Start it without a wait."""
        with self.log.open('ab') as output:
            self._begin = output.tell()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
                **_within(self._checkout))
        self.pid = self._process.pid

    def kill(self):
        """Kill all its processes by SIGKILL."""
        os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


def _within(checkout):
    """Return the environment to import from a checkout: dict."""
    if checkout is None:
        return {}
    return {'cwd': checkout,
            'env': {**os.environ, 'PYTHONPATH': str(checkout)}}


def check(checkout):
    """Raise AssertionError unless a checkout's own package is imported."""
    done = subprocess.run(
        [sys.executable, '-c', 'import nova_sched.cmd.scheduler as found; '
         'print(found.__file__)'],
        capture_output=True, text=True, check=True, **_within(checkout))
    found = pathlib.Path(done.stdout.strip())
    assert found.is_relative_to(checkout), f'{found} is not in {checkout}'


class Bed:
    """All servers and five schedulers, during a block.

    directory: for files.  old: checkout of the older revision.

    broker, placement, cells (by name): parts that can fail.  schedulers: list
    of Scheduler.  hosts: name -> uuid of its node.
    """

    def __init__(self, directory, old):
        self.directory = pathlib.Path(directory)
        self._old, self._exit = pathlib.Path(old).resolve(), None
        self.hosts, self.schedulers, self.mappings = {}, [], {}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._exit = stack
            self._open()
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._exit.close()

    def _open(self):
        for checkout in (TOP, self._old):
            check(checkout)
        main = mariadb.MariaDB('main', '--max-connections=500')
        self.broker = rabbitmq.RabbitMQ()
        self.cells = {name: mariadb.MariaDB(f'nova_{name}',
                                            '--max-connections=500')
                      for name in CELLS}
        for server in (main, self.broker, *self.cells.values()):
            self._exit.callback(server.end)
            server.start()
        os.environ['NOVA_SCHED_TEST_MYSQL_URL'] = main.url
        self.placement = self._exit.enter_context(placements.open_placement(
            self.directory, processes=_PROCESSES))
        self._make_databases()
        self.transport = rpc.get_transport(self._configuration())
        self._exit.callback(self.transport.cleanup)
        self._make_schedulers()

    def _make_databases(self):
        self._databases = rig_databases.Databases(
            self.directory, self.broker.url, CELLS)
        for name, server in self.cells.items():
            self._databases.urls[name] = server.url
        self._databases.make()
        with dumps.Tables(self._databases.urls['api'], 'cell_mappings') as (
                connection, tables):
            mappings = tables['cell_mappings']
            for name, server in self.cells.items():
                connection.execute(mappings.update().where(
                    mappings.c.name == name).values(
                        database_connection=server.url))
        self.mappings = self._databases.mappings

    def fill(self, each):
        """Create the hosts, ``each`` per cell, also in Placement."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        for cell, server in self.cells.items():
            names = [f'{cell}-{number:02}' for number in range(each)]
            self.hosts |= {name: clouds.a_uuid() for name in names}
            with dumps.Tables(server.url, 'services', 'compute_nodes') as (
                    connection, tables):
                connection.execute(tables['services'].insert(), [
                    clouds.a_service(name, last_seen_up=now)
                    for name in names])
                connection.execute(tables['compute_nodes'].insert(), [
                    _node(name, self.hosts[name]) for name in names])
            with dumps.Tables(self._databases.urls['api'],
                              'host_mappings') as (connection, tables):
                connection.execute(tables['host_mappings'].insert(), [
                    {'host': name, 'cell_id': self.mappings[cell]['id']}
                    for name in names])
            for name in names:
                self.placement.provider(
                    name, self.hosts[name], _inventory(), _TRAITS)

    def destination(self, host):
        """Return the Destination that keeps an instance in its cell."""
        cell = host.partition('-')[0]
        return objects.Destination(cell=objects.CellMapping(
            id=self.mappings[cell]['id'], uuid=self.mappings[cell]['uuid'],
            name=cell, transport_url='none:///', disabled=False,
            database_connection=self.cells[cell].url,
            created_at=None, updated_at=None))

    def _make_schedulers(self):
        ours = [sys.executable, '-m', 'nova_sched.cmd.scheduler']
        for name, command, checkout in (
                ('new1', ours, TOP), ('old1', ours, self._old),
                ('nova', [rig_databases.program('nova-scheduler')], None),
                ('new2', ours, TOP), ('old2', ours, self._old)):
            options = _OURS if checkout else _NOVAS
            conf = stage.write_config(
                self.directory / f'{name}.conf', **_OPTIONS, **options,
                **self._databases.options(), **self.placement.settings,
                DEFAULT__host=name)
            self.schedulers.append(Scheduler(name, command, conf, checkout))

    def start(self):
        """Start all schedulers and wait until they serve."""
        for scheduler in self.schedulers:
            scheduler.start()
            self._exit.callback(scheduler.end)
        for scheduler in self.schedulers:
            self.wait_for(scheduler)

    def wait_for(self, scheduler):
        """Wait until a scheduler answers."""
        ping = rpc.get_client(self.transport, messaging.Target(
            topic=rpc.TOPIC, version='1.0', namespace='baseapi',
            server=scheduler.name)).prepare(timeout=2)

        def serves():
            assert scheduler.running, scheduler.text[-4000:]
            with contextlib.suppress(messaging.MessagingException):
                return ping.call(context.RequestContext(), 'ping', arg='well')

        processes.until(serves, f'an answer of {scheduler.name}', _SERVES)

    def _configuration(self, **options):
        path = stage.write_config(
            self.directory / f'caller{time.monotonic_ns()}.conf',
            DEFAULT__transport_url=self.broker.url, **options)
        return config.new_conf([], [str(path)])

    def client(self, patience, longest):
        """Return a client of the schedulers with its own connection.

        patience: time-out in seconds of a call without signs of life.
        longest: time-out in seconds of any call.
        """
        conf = self._configuration(DEFAULT__rpc_response_timeout=patience,
                                   DEFAULT__long_rpc_timeout=longest)
        transport = rpc.get_transport(conf)
        self._exit.callback(transport.cleanup)
        return query.SchedulerQueryClient(conf, transport)

    def engine(self, url):
        """Return an SQLAlchemy engine that survives restarts."""
        engine = sa.create_engine(url, pool_pre_ping=True, pool_size=2)
        self._exit.callback(engine.dispose)
        return engine


def _inventory():
    return {name: {'total': total, 'max_unit': total, 'reserved': 0,
                   'allocation_ratio': 1.0} for name, total in (
                       ('VCPU', SLOTS), ('MEMORY_MB', 2 * SLOTS * MEMORY),
                       ('DISK_GB', 2 * SLOTS))}


def _node(name, uuid):
    memory = 2 * SLOTS * MEMORY
    return clouds.a_compute_node(
        name, uuid=uuid, vcpus=SLOTS, cpu_allocation_ratio=1.0,
        memory_mb=memory, free_ram_mb=memory, memory_mb_used=0,
        local_gb=2 * SLOTS, free_disk_gb=2 * SLOTS,
        disk_available_least=2 * SLOTS)
