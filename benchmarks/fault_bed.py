"""A small deployment in which each part can fail."""

import collections
import contextlib
import dataclasses
import re

import psutil
import sqlalchemy as sa

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.db import tables
from tests.builders import clouds
from tests.functional import mariadb
from tests.functional import rabbitmq
from tests.functional import stage as stages
from tests.interop import placement as placements

#: Seconds that the service waits for a cell and for Placement.
TIMEOUT = 5
#: Calls that a worker handles at a time.
THREADS = 16
HOSTS = {'one': [f'one-{number}' for number in range(10)],
         'two': [f'two-{number}' for number in range(10)]}
#: Type of queues -> options of [oslo_messaging_rabbit], at both ends.
QUEUES = {
    'default': {},
    'durable': {'amqp_durable_queues': True},
    'quorum': {'rabbit_quorum_queue': True,
               'rabbit_transient_quorum_queue': True}}
#: More than the size of all requests together.
INVENTORY = {'VCPU': 10 ** 6, 'MEMORY_MB': 10 ** 9, 'DISK_GB': 10 ** 9}


class Bed:
    """Two cells, the API database, Placement, a broker and the daemon.

    directory: for files.  Each of ``broker``, ``placement``, ``api`` and
    ``cells`` (by name) can be stopped, started, suspended and resumed.  The
    daemon runs within ``serving``.
    """

    def __init__(self, directory):
        self._directory, self._exit = directory, contextlib.ExitStack()
        self.cells = {name: mariadb.MariaDB(f'nova_{name}') for name in HOSTS}
        self.api = mariadb.MariaDB('nova_api')
        self.broker = rabbitmq.RabbitMQ()

    def __enter__(self):
        try:
            self._open()
        except BaseException:
            self._exit.close()
            raise
        return self

    def __exit__(self, *error):
        self._exit.close()

    def _open(self):
        for server in (self.broker, self.api, *self.cells.values()):
            self._exit.callback(server.end)
            server.start()
        self.placement = self._exit.enter_context(
            placements.open_placement(self._directory))
        for name, server in self.cells.items():
            self._fill(name, server.url)
        _load(self.api.url, clouds.a_cloud([]))
        with engine.Database(self.api.url).writing() as connection:
            connection.execute(sa.delete(tables.cell_mappings))
            connection.execute(sa.insert(tables.cell_mappings), [
                {'uuid': clouds.a_uuid(), 'name': name, 'disabled': False,
                 'database_connection': server.url}
                for name, server in self.cells.items()])
        self._stage = stages.Stage(
            self._directory, self.broker.url, self.api.url)
        self._exit.callback(self._stage.close)

    @contextlib.contextmanager
    def serving(self, queues='default'):
        """Run a daemon during a block; also ends its callers.

        queues: a key of QUEUES.
        """
        self._queues = {
            # Queues of two types cannot have the same name.
            'DEFAULT__scheduler_topic': f'scheduler-{queues}',
            'DEFAULT__control_exchange': f'nova-{queues}',
            **{f'oslo_messaging_rabbit__{name}': value
               for name, value in QUEUES[queues].items()}}
        with self._stage.scene():
            self._daemon = self._serve(f'nova-sched-{queues}')
            yield

    def _serve(self, name):
        return self._stage.daemon(
            workers=2, name=name, api_database__connection=self.api.url,
            nova_sched__cell_timeout=TIMEOUT, placement__timeout=TIMEOUT,
            # The compute services send no heartbeats.
            DEFAULT__service_down_time=10 ** 9,
            # Few enough that all threads exist before a fault begins.
            DEFAULT__executor_thread_pool_size=THREADS,
            # Spreads instances over all hosts.
            filter_scheduler__host_subset_size=1000,
            **self._queues, **self.placement.settings)

    def _fill(self, name, url):
        nodes = [clouds.a_compute_node(host) for host in HOSTS[name]]
        _load(url, clouds.a_cloud(HOSTS[name], compute_nodes=nodes, cells=[],
                                  host_mappings=[]))
        for node in nodes:
            self.placement.provider(
                node['host'], node['uuid'], INVENTORY,
                traits=['COMPUTE_NODE', 'OWNER_NOVA'])

    def clients(self, count):
        """Return callers with own connections and a conductor's time-outs."""
        return [self._stage.client(DEFAULT__rpc_response_timeout=60,
                                   DEFAULT__long_rpc_timeout=1800,
                                   **self._queues)
                for _ in range(count)]

    def decided_twice(self):
        """Return the number of instances that were placed more than once."""
        placed = collections.Counter(
            uuid for line in self._daemon.lines(' placed: ')
            for uuid in re.findall(r'([0-9a-f-]{36}) on ', line))
        return sum(times > 1 for times in placed.values())

    def usage(self):
        """Return the resources that the workers use: Usage."""
        workers = [psutil.Process(pid) for pid in self._daemon.workers]
        return Usage(sum(worker.num_threads() for worker in workers),
                     sum(worker.num_fds() for worker in workers),
                     sum(worker.memory_info().rss for worker in workers)
                     // 2 ** 20)

    def consumers(self):
        """Return the uuids of the instances with allocations: set."""
        return {consumer for provider in self.placement.providers().values()
                for consumer in self.placement.consumers(provider)}


@dataclasses.dataclass(frozen=True)
class Usage:
    """Threads, file descriptors and resident MiB of all workers together."""

    threads: int
    descriptors: int
    memory: int


def _load(url, cloud):
    database = engine.Database(url)
    schema.sync_database(database)
    cloud_file.load(database.engine, cloud)
    database.close()
