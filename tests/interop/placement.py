"""A real Placement in a process of its own, with a real MariaDB.

``tools/nova-venv.sh`` installs it beside Nova; NOVA_SCHED_TEST_NOVA names
another Python with both.
"""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import uuid

import requests
import sqlalchemy as sa

from tests.functional import conftest as functional
from tests.functional import ports
from tests.functional import processes
from tests.functional import shared
from tests.functional import stage
from tests.interop import dumps

TOP = pathlib.Path(__file__).parent.parent.parent
SERVER = pathlib.Path(__file__).parent / 'placement_server.py'
#: The token of an administrator with ``noauth2``.
TOKEN = 'admin'
#: The microversion of the tests' own requests.
VERSION = '1.39'
#: Seconds to wait for answers to the tests' own requests.
PATIENCE = 30

#: The output of SERVER once it accepts connections.
SERVES = b'Placement takes connections'

#: Without it, MariaDB before 11.6 lets two requests overwrite each other, and
#: Placement allocates more of a provider than there is.
_STRICT = 'SET SESSION innodb_snapshot_isolation = ON'


class Refused(AssertionError):
    """Placement refused a request of the test itself."""


class Placement:
    """A Placement with a port and a database of its own, without Keystone.

    directory: for its files.  database_url: of an empty database, or with
    several processes of a database with tables.
    threads: number of concurrent requests a process.
    processes: number of processes that share the socket.
    url: where it listens.  options: ``[placement]`` of its clients.
    settings: the same as ``group__option``.
    """

    def __init__(self, directory, database_url, threads=16, processes=1):
        self._directory = pathlib.Path(directory)
        self.database_url = database_url
        self._threads, self._count, self._processes = threads, processes, []
        self._session, self._named = requests.Session(), set()
        self._python = pathlib.Path(os.environ.get(
            'NOVA_SCHED_TEST_NOVA', TOP / '.venv-nova/bin/python'))
        self._port = ports.free_port()
        self.url = f'http://127.0.0.1:{self._port}'
        self.options = {'auth_type': 'admin_token', 'token': TOKEN,
                        'endpoint': self.url}
        self.settings = {f'placement__{name}': value
                         for name, value in self.options.items()}
        stage.write_config(
            self._directory / 'placement.conf', DEFAULT__debug='false',
            api__auth_strategy='noauth2',
            placement_database__connection=sa.make_url(database_url)
            .update_query_dict({'init_command': _STRICT}).render_as_string(
                hide_password=False),
            placement_database__sync_on_startup='true',
            placement_database__max_pool_size=threads)

    @property
    def log(self):
        """Its log so far, a line a request: text."""
        return (self._directory / 'placement.log').read_text(errors='replace')

    def start(self):
        """Start it at the same address each time; return once it answers."""
        assert self._python.exists(), (
            f'{self._python} does not exist: tools/nova-venv.sh installs it')
        log = self._directory / 'placement.log'
        with (log.open('ab') as output,
              socket.create_server(('127.0.0.1', self._port),
                                   backlog=1024) as listener):
            begin = output.tell()
            self._processes = [
                self._served(listener.fileno(), output)
                for _ in range(self._count)]
        # A late process would get none of the connections.
        processes.until(lambda: self._take_connections(begin),
                        'all processes of Placement')
        processes.until(self._answers, 'an answer of Placement')

    def _served(self, descriptor, output):
        """Start a process on a listening socket."""
        return subprocess.Popen(
            # -P: the program must not import this file as placement.
            [self._python, '-P', SERVER, str(descriptor),
             str(self._threads)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True, pass_fds=[descriptor],
            env={**os.environ,
                 'OS_PLACEMENT_CONFIG_DIR': str(self._directory)})

    def _take_connections(self, begin):
        self._check()
        log = (self._directory / 'placement.log').read_bytes()[begin:]
        return log.count(SERVES) == self._count

    def _check(self):
        assert all(process.poll() is None for process in self._processes), (
            f'it has ended:\n{self.log}')

    def _answers(self):
        self._check()
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(self.url, timeout=PATIENCE).ok

    def stop(self):
        """Kill it: connections are refused from now on."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes = []

    def hang(self):
        """Make it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        """Have it answer again, also requests that arrived in between."""
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        for process in self._processes:
            process.send_signal(number)

    def ask(self, method, path, body=None, version=VERSION):
        """Send a request; return the JSON of the answer, None if empty.

        Raises Refused, with Placement's text, for an error.
        """
        answer = self._session.request(
            method, self.url + path, json=body, timeout=PATIENCE, headers={
                'X-Auth-Token': TOKEN,
                'OpenStack-API-Version': f'placement {version}'})
        if not answer.ok:
            raise Refused(f'{method} {path}: {answer.status_code} '
                          f'{answer.text}')
        return answer.json() if answer.content else None

    def provider(self, name, uuid, inventories=None, traits=(),
                 aggregates=(), parent=None):
        """Create a resource provider; return its uuid.

        inventories: resource class -> total, or a dict of an inventory's
            fields (total, reserved, allocation_ratio, max_unit, ...).
        traits: custom traits are created.
        aggregates: uuids.  parent: uuid of another provider.
        """
        generation = self.ask('POST', '/resource_providers', {
            'name': name, 'uuid': uuid, 'parent_provider_uuid': parent})[
                'generation']
        if inventories:
            generation = self.inventories(uuid, inventories, generation)
        if traits:
            self._make('traits', traits)
            generation = self._set(uuid, 'traits', list(traits), generation)
        if aggregates:
            self._set(uuid, 'aggregates', list(aggregates), generation)
        return uuid

    def inventories(self, provider, inventories, generation=None):
        """Replace the inventories of a provider; return its new generation.

        inventories: as of ``provider``.  generation: current, if known.
        """
        self._make('resource_classes', inventories)
        return self._set(provider, 'inventories', {
            name: amount if isinstance(amount, dict) else {'total': amount}
            for name, amount in inventories.items()}, generation)

    def _make(self, what, names):
        """Create custom traits or resource classes."""
        for name in names:
            if name.startswith('CUSTOM_') and (what, name) not in self._named:
                self.ask('PUT', f'/{what}/{name}')
                self._named.add((what, name))

    def _set(self, provider, what, value, generation=None):
        if generation is None:
            generation = self.generation(provider)
        return self.ask('PUT', f'/resource_providers/{provider}/{what}', {
            what: value, 'resource_provider_generation': generation})[
                'resource_provider_generation']

    def generation(self, provider):
        """The generation of a provider: int."""
        return self.ask('GET', f'/resource_providers/{provider}')['generation']

    def allocate(self, consumer, allocations, is_new=False, **fields):
        """Replace the allocations of a consumer.

        allocations: provider uuid -> resource class -> amount; empty to
            delete all.  is_new: whether the consumer has none yet.
        fields: of the request, such as mappings.
        """
        if not allocations:
            with contextlib.suppress(Refused):
                self.ask('DELETE', f'/allocations/{consumer}')
            return
        held = {} if is_new else self.ask('GET', f'/allocations/{consumer}')
        self.ask('PUT', f'/allocations/{consumer}', {
            'allocations': {provider: {'resources': resources}
                            for provider, resources in allocations.items()},
            'project_id': 'project', 'user_id': 'user',
            'consumer_type': 'INSTANCE',
            'consumer_generation': held.get('consumer_generation'), **fields})

    def consumer(self, consumer):
        """Placement's answer about a consumer: dict.

        allocations, and if there are any: project_id, user_id,
        consumer_generation, consumer_type.
        """
        return self.ask('GET', f'/allocations/{consumer}')

    def allocations(self, consumer):
        """Allocations of a consumer: provider uuid -> class -> amount."""
        return {provider: held['resources'] for provider, held
                in self.consumer(consumer)['allocations'].items()}

    def usages(self, provider):
        """Usages of a provider: resource class -> amount."""
        return self.ask(
            'GET', f'/resource_providers/{provider}/usages')['usages']

    def consumers(self, provider):
        """Allocations of a provider: consumer uuid -> class -> amount."""
        return {consumer: held['resources'] for consumer, held in self.ask(
            'GET', f'/resource_providers/{provider}/allocations')[
                'allocations'].items()}

    def clear(self):
        """Remove all providers and allocations.

        Late requests of an earlier test may add some, so repeat until none.
        """
        processes.until(self._cleared, 'no provider is left', interval=0.01)

    def _cleared(self):
        """Remove providers without children; whether there was none."""
        left = self.ask('GET', '/resource_providers')['resource_providers']
        parents = {found['parent_provider_uuid'] for found in left}
        with contextlib.suppress(Refused):
            for found in left:
                for consumer in self.consumers(found['uuid']):
                    self.allocate(consumer, {})
                if found['uuid'] not in parents:
                    self.ask('DELETE', f'/resource_providers/{found["uuid"]}')
        return not left

    def providers(self):
        """All resource providers: name -> uuid."""
        return {found['name']: found['uuid'] for found
                in self.ask('GET', '/resource_providers')[
                    'resource_providers']}


@contextlib.contextmanager
def open_placement(directory, **kwargs):
    """A running Placement with a database of its own.

    directory: for its files.  kwargs: of Placement.
    """
    database_url, drop = functional.new_database()
    dumps.load(database_url, shared.once('placement-database', _made))
    placement = Placement(directory, database_url, **kwargs)
    try:
        placement.start()
        yield placement
    finally:
        placement.stop()
        drop()


def _made():
    """A dump of the tables that a Placement creates."""
    database_url, drop = functional.new_database()
    with tempfile.TemporaryDirectory() as directory:
        placement = Placement(directory, database_url)
        try:
            placement.start()
            return dumps.dump(database_url)
        finally:
            placement.stop()
            drop()


def a_consumer():
    """A new uuid, for a consumer or provider."""
    return str(uuid.uuid4())
