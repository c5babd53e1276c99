"""The test bed of the service behind a real Placement.

A cloud in databases made by Nova's own tools, the same hosts in a Placement
with two processes, and the measured programs.
"""

import contextlib
import dataclasses
import random
import threading
import uuid

import oslo_messaging as messaging
from oslo_utils import uuidutils
import requests

from benchmarks import bed as test_bed
from benchmarks import guests
from benchmarks import providers
from nova_sched import context
from nova_sched import rpc
from nova_sched.cloud import fake as fake_cloud
from nova_sched.db import engine as db_engine
from nova_sched.db import schema
from nova_sched.db import tables as our_tables
from tests.functional import conftest as functional
from tests.functional import processes
from tests.functional import stage
from tests.interop import dumps
from tests.interop import placement as placements
from tests.interop import rig_databases

PROCESSES = 2        # of Placement
_CELL = 'cell1'
_API = ('aggregates', 'aggregate_hosts', 'aggregate_metadata')
_VERSION = '1.36'    # the microversion of Nova's claims and listings
_PATIENCE = 300      # time-out in seconds of the direct client of Placement
_ATTEMPTS = 4        # of a claim, as Nova's
_OPTIONS = {
    # The fake compute services do not send all heartbeats at once.
    'DEFAULT__service_down_time': 864000,
    'scheduler__workers': 1,
    'oslo_messaging_rabbit__rabbit_transient_queues_ttl': 60,
}
_QUERY = ','.join(f'{name}:{amount}'
                  for name, amount in guests.RESOURCES.items())


@dataclasses.dataclass(frozen=True)
class Subject:
    """A scheduler to measure.

    name: in the tables.  mode: value of ``[nova_sched] candidates``, or '' to
    leave that option out.  claims: whether it has a Placement.  peer: whether
    it is Nova's scheduler.
    """

    name: str
    mode: str = ''
    claims: bool = True
    peer: bool = False

    def options(self, placement):
        """Return its configuration options, as ``group__option``."""
        if not self.claims:
            # Otherwise instances without claims would fill the cloud.
            return {'nova_sched__pick_lifetime': 10}
        return placement.settings | (
            {'nova_sched__candidates': self.mode} if self.mode else {})

    def program(self):
        """Return the path of the scheduler's program: text."""
        if self.peer:
            return str(rig_databases.program('nova-scheduler'))
        return processes.command_line('nova-sched')[0]


def request(instances):
    """Return the arguments of a call, for instances of guests.SIZE: dict."""
    call = test_bed.request(instances)
    data = call['spec_obj']['nova_object.data']
    flavor = data['flavor']
    data['flavor'] = flavor | {
        'nova_object.data': flavor['nova_object.data'] | guests.SIZE}
    return call


class Cloud:
    """Hosts in the databases of a Nova and in a Placement, during a block.

    directory: for files.  hosts: their number.  provider: function like
    providers.of_node.

    url: of the database of their cell.  placement: of tests.interop.
    nodes: uuids of compute nodes.
    """

    def __init__(self, directory, hosts, provider=providers.of_node):
        self._directory, self._hosts, self._provider = (
            directory, hosts, provider)
        self._databases = rig_databases.Databases(
            directory, functional.broker(), (_CELL,))
        self.url = self._databases.urls[_CELL]
        self.placement, self.nodes = None, []
        self._exit = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self._databases.drop)
            self._databases.make()
            self.placement = stack.enter_context(placements.open_placement(
                self._directory, processes=PROCESSES))
            self.nodes = self._fill()
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._exit.close()

    def options(self):
        """Return configuration options, as ``group__option``."""
        return self._databases.options()

    def _fill(self):
        """Create the hosts; return the uuids of their compute nodes: list."""
        rows, disabled = self._made_up()
        with dumps.Tables(self.url, 'services',
                          'compute_nodes') as (connection, tables):
            for name in ('services', 'compute_nodes'):
                connection.execute(tables[name].insert(), rows[name])
        with dumps.Tables(self._databases.urls['api'], 'host_mappings',
                          *_API) as (connection, tables):
            connection.execute(tables['host_mappings'].insert(), [
                {'host': node['host'],
                 'cell_id': self._databases.mappings[_CELL]['id']}
                for node in rows['compute_nodes']])
            for name in _API:
                connection.execute(tables[name].insert(), rows[name])
        uuids = {row['id']: row['uuid'] for row in rows['aggregates']}
        members = {}
        for row in rows['aggregate_hosts']:
            members.setdefault(row['host'], []).append(
                uuids[row['aggregate_id']])
        providers.fill(self.placement, [
            self._provider(node, members[node['host']],
                           node['host'] == disabled)
            for node in rows['compute_nodes']])
        return [node['uuid'] for node in rows['compute_nodes']]

    def _made_up(self):
        """Return rows of a fake cloud, by table, and the disabled host."""
        database = db_engine.Database(
            f'sqlite:///{self._directory}/{self._hosts}.sqlite')
        try:
            schema.sync_database(database)
            cloud = fake_cloud.FakeCloud(database.engine, self._hosts)
            cloud.create()
            with database.reading() as connection:
                rows = {name: [dict(row) for row in connection.execute(
                    our_tables.metadata.tables[name].select()).mappings()]
                    for name in ('services', 'compute_nodes', *_API)}
        finally:
            database.close()
        return rows, cloud.disabled_host


class Bed(test_bed.Bed):
    """A Cloud of ``hosts`` hosts, and measured programs, during a block.

    directory: for configuration and logs.

    claims: Claims.  guests: guests.Guests.
    """

    def __init__(self, directory, hosts):
        self._exit = contextlib.ExitStack()
        self._cloud = Cloud(directory, hosts)
        super().__init__(functional.broker(), self._cloud.url, directory)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._cloud)
            placement = self._cloud.placement
            stack.enter_context(self.compute_services())
            self.guests = stack.enter_context(guests.Guests(
                self.database_url, placement, self.directory / 'guests.log'))
            self.claims = Claims(placement, self._cloud.nodes, self.guests)
            for _ in range(guests.ROOM // 100):
                self.claims.claim(100)
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._exit.close()

    @contextlib.contextmanager
    def scheduler(self, subject):
        """Run a Subject; yield a function: number of instances -> call."""
        # The queue may contain earlier calls without an answer.
        functional.broker()
        name = f'{subject.name.replace(" ", "-")}-{uuid.uuid4().hex[:8]}'
        conf = stage.write_config(
            self.directory / f'{name}.conf', DEFAULT__host=name,
            **_OPTIONS, **self._cloud.options(),
            **subject.options(self._cloud.placement))
        client = rpc.get_client(self.transport, messaging.Target(
            topic=rpc.TOPIC, version='4.5'))
        ctxt = context.RequestContext(user_id='user', project_id='project')
        ping = client.prepare(namespace='baseapi', version='1.1', timeout=2)

        def call(instances):
            asked = request(instances)
            answer = client.call(ctxt, 'select_destinations', **asked)
            assert len(answer) == instances, answer
            if subject.claims:
                self.guests.placed([
                    (instance, _node(chosen[0])) for instance, chosen
                    in zip(asked['instance_uuids'], answer, strict=True)])

        with self._running(name, subject.program(), '--config-file',
                           str(conf)):
            test_bed.until(lambda: ping.call(ctxt, 'ping', arg='all is well'))
            yield call


def _node(selection):
    return selection['nova_object.data']['compute_node_uuid']


class Claims:
    """The least work of a client of Placement, without a scheduler.

    Each thread has its own connection.
    """

    def __init__(self, placement, nodes, told):
        self._url, self._nodes, self._told = placement.url, nodes, told
        self._headers = {
            'X-Auth-Token': placement.options['token'],
            'OpenStack-API-Version': f'placement {_VERSION}'}
        self._own = threading.local()

    def _ask(self, method, path, **kwargs):
        if not hasattr(self._own, 'session'):
            self._own.session = requests.Session()
            self._own.session.headers = self._headers
        for _ in range(_ATTEMPTS):
            answer = self._own.session.request(
                method, self._url + path, timeout=_PATIENCE, **kwargs)
            if answer.status_code != 409:
                break
        assert answer.ok, (answer.status_code, answer.text)
        return answer

    def claim(self, instances):
        """Claim for new instances, each on another host, in one request."""
        nodes = self._nodes * -(-instances // len(self._nodes))
        pairs = [(uuidutils.generate_uuid(), node)
                 for node in random.sample(nodes, instances)]
        bodies = {instance: _body(node) for instance, node in pairs}
        if instances == 1:
            [(instance, body)] = bodies.items()
            self._ask('PUT', f'/allocations/{instance}', json=body)
        else:
            self._ask('POST', '/allocations', json=bodies)
        self._told.placed(pairs)

    def listing(self):
        """List at most 1,000 hosts that have room for one instance."""
        self._ask('GET', '/allocation_candidates', params={
            'resources': _QUERY, 'limit': 1000})


def _body(node):
    return {'allocations': {node: {'resources': guests.RESOURCES}},
            'mappings': {'': [node]}, 'consumer_generation': None,
            'project_id': 'project', 'user_id': 'user'}
