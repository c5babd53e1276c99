"""A stage for stories: a cloud, a broker, a scheduler and its callers.

Tests share one broker; each stage has an exchange of its own.  See
``conftest.broker`` for the queues.
"""

import concurrent.futures
import contextlib
import pathlib
import threading
import uuid

from nova_sched import conf as config
from nova_sched import context
from nova_sched import rpc
from nova_sched import service
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cloud import fake_hardware
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.scheduler.client import query
from tests.builders import clouds
from tests.builders import requests
from tests.functional import processes

FILTER, CACHING, CHANCE = DRIVERS = (
    'filter_scheduler', 'caching_scheduler', 'chance_scheduler')

#: Seconds between heartbeats of the fake compute services.
HEARTBEAT = 1

_OPTIONS = {
    'DEFAULT__rpc_response_timeout': processes.PATIENCE,
    'DEFAULT__long_rpc_timeout': processes.PATIENCE,
    # Errors count the hosts that each rule rejects.
    'nova_sched__no_valid_host_text': 'counts',
    # Reply queues must not outlive the test run.
    'oslo_messaging_rabbit__rabbit_transient_queues_ttl': 60,
}


def write_config(path, **options):
    """Write a configuration file; returns its path.

    options: as ``group__option``; each item of a list has a line.
    """
    groups = {}
    for name, value in options.items():
        group, _, option = name.partition('__')
        groups.setdefault(group, []).extend(
            (option, item) for item
            in (value if isinstance(value, list) else [value]))
    path.write_text('\n'.join(
        f'[{group}]\n' + ''.join(
            f'{name} = {value}\n' for name, value in pairs)
        for group, pairs in groups.items()))
    return path


class Stage:
    """One database and one broker, with schedulers and callers on them.

    directory: for files.  options: of the service, as ``group__option``.
    """

    def __init__(self, directory, transport_url, database_url, **options):
        self.directory = pathlib.Path(directory)
        self.transport_url, self.database_url = transport_url, database_url
        unique = uuid.uuid4().hex[:8]
        self._options = {
            **_OPTIONS,
            'DEFAULT__transport_url': transport_url,
            'DEFAULT__control_exchange': f'nova-{unique}',
            'DEFAULT__host': f'sched-{unique}',
            'DEFAULT__state_path': self.directory,
            'database__connection': database_url,
            'scheduler__workers': 1,
            **options}
        self._exit, self._database = contextlib.ExitStack(), None
        self.conf = self.configuration()

    def config_file(self, name='nova-sched', **options):
        """A configuration file with the stage's options and these."""
        return write_config(self.directory / f'{name}.conf',
                            **self._options | options)

    def configuration(self, **options):
        """A ConfigOpts with the stage's options and these."""
        return config.new_conf([], [str(self.config_file('stage',
                                                         **options))])

    def close(self):
        """Stop all that was started and still runs."""
        self._exit.close()

    @contextlib.contextmanager
    def scene(self):
        """Stop after a block all that was started in it."""
        outer, self._exit = self._exit, contextlib.ExitStack()
        try:
            with self._exit:
                yield
        finally:
            self._exit = outer

    def sync(self):
        """Create the tables."""
        schema.sync(self.conf)

    def engine(self):
        """A SQLAlchemy engine of the database, the same each time."""
        if self._database is None:
            self._database = engine.database(self.conf)
            self._exit.callback(self._forget_database)
        return self._database.engine

    def _forget_database(self):
        self._database.close()
        self._database = None

    def load(self, cloud):
        """Replace the cloud by one of tests.builders.clouds."""
        self.sync()
        cloud_file.load(self.engine(), cloud, shift=True)

    def cloud(self, hosts=8, live=True, alike=False):
        """A fake cloud.

        live: whether heartbeats and audits go on.
        alike: whether all hosts are like clouds.a_compute_node, instead of
            several kinds.
        """
        self.sync()
        cloud = fake_cloud.FakeCloud(self.engine(), hosts)
        if alike:
            self.load(clouds.a_cloud([fake_hardware.host_name(number)
                                      for number in range(1, hosts + 1)]))
        else:
            cloud.create()
        if live:
            stop = threading.Event()
            thread = threading.Thread(target=cloud.run,
                                      args=(stop, HEARTBEAT))
            thread.start()
            self._exit.callback(thread.join)
            self._exit.callback(stop.set)
        return cloud

    def start(self, config_files=None, environ=None, name='nova-sched',
              **options):
        """Start a daemon without waiting; return its Program.

        config_files: in place of a file with the stage's options and these.
        """
        files = config_files or [self.config_file(name, **options)]
        daemon = processes.Program(
            'nova-sched',
            [word for path in files for word in ('--config-file', path)],
            self.directory / f'{name}.log', environ)
        self._exit.callback(daemon.end)
        return daemon

    def daemon(self, workers=1, **kwargs):
        """Start a daemon; return its Program once all workers serve."""
        daemon = self.start(scheduler__workers=workers, **kwargs)
        daemon.wait_for_lines('Serving requests', times=workers)
        daemon.wait_for_messenger()
        return daemon

    def embedded(self, **options):
        """Start a scheduler in this process."""
        scheduler = service.SchedulerService(self.configuration(**options))
        scheduler.start()
        self._exit.callback(scheduler.stop)
        return scheduler

    def scheduler(self, **options):
        """Start a daemon on RabbitMQ, an embedded scheduler elsewhere."""
        if self.transport_url.startswith('rabbit'):
            return self.daemon(**options)
        return self.embedded(**options)

    def door_to_broker(self):
        """A Door that leads to the broker, not open yet."""
        door = processes.door_to(self.transport_url)
        self._exit.callback(door.close)
        return door

    def transport(self, **options):
        """An oslo.messaging transport of this stage."""
        transport = rpc.get_transport(self.configuration(**options))
        self._exit.callback(transport.cleanup)
        return transport

    def client(self, **options):
        """A Caller of the scheduler."""
        return Caller(query.SchedulerQueryClient(
            self.configuration(**options), self.transport(**options)))


class Caller:
    """Calls a scheduler as a conductor does.

    client: a SchedulerQueryClient.  instances: uuids of the last call.
    """

    instances = ()

    def __init__(self, client):
        self._client = client

    def ask(self, spec=None, count=1, alternates=True, request_id=None,
            **request):
        """Call with a RequestSpec or keywords of a_request.

        Returns lists of Selection.
        """
        uuids = [str(uuid.uuid4()) for _ in range(count)]
        self.instances = uuids
        if spec is None:
            spec = requests.a_request(
                num_instances=count, instance_uuid=uuids[0], **request)
        return self._client.select_destinations(
            context.RequestContext(request_id=request_id), spec, uuids,
            return_objects=True, return_alternates=alternates)

    def place(self, spec, uuids=None):
        """Call with a RequestSpec; return lists of Selection.

        uuids: of the instances; by default the RequestSpec's instance.
        """
        return self._client.select_destinations(
            context.RequestContext(), spec, uuids or [spec.instance_uuid],
            return_objects=True, return_alternates=True)

    def pick(self, **request):
        """Call for one instance; return the name of its host."""
        return self.ask(**request)[0][0].service_host

    def crowd(self, calls, callers=50, **request):
        """Send calls by some callers at a time; return their futures."""
        pool = concurrent.futures.ThreadPoolExecutor(callers)
        futures = [pool.submit(self.ask, **request) for _ in range(calls)]
        pool.shutdown(wait=False)
        return futures


def picks(answer):
    """Names of the selected hosts, one an instance."""
    return [chosen[0].service_host for chosen in answer]


def names(answer):
    """Host names: one list an instance, the selected one first."""
    return [[selection.service_host for selection in chosen]
            for chosen in answer]


def boot(cloud, uuids, answer, flavor):
    """Boot the instances of an answer, and have their hosts report them.

    uuids: of the instances.  flavor: objects.Flavor.
    """
    sizes = {name: getattr(flavor, name) for name in
             ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')}
    for name, (selected, *_) in zip(uuids, answer, strict=True):
        cloud.boot(name, selected.service_host, selected.nodename, sizes)
    cloud.audit()
