"""A real Placement, as a process of its own over a real MariaDB.

``tools/nova-venv.sh`` installs it beside Nova; NOVA_SCHED_TEST_NOVA names
the Python of that environment if it is elsewhere.
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
#: Under ``noauth2`` this is the token of an administrator.
TOKEN = 'admin'
#: The microversion in which the tests speak for themselves.
VERSION = '1.39'
#: Seconds until an answer to the tests themselves counts as missing.
PATIENCE = 30

#: What a process of SERVER prints once it takes connections.
SERVES = b'Placement takes connections'

#: Without it a MariaDB before 11.6 lets one request write over what another
#: has just written, and Placement gives more of a provider than there is.
_STRICT = 'SET SESSION innodb_snapshot_isolation = ON'


class Refused(AssertionError):
    """Placement said no to a request that a test made for itself."""


class Placement:
    """A Placement of its own port and database, without Keystone.

    directory: for its files.  database_url: of an empty database, whose
    tables ``start`` makes; several processes take one that has them.
    threads: how many requests a process works on at a time.
    processes: how many take connections from the one socket.
    url: where it listens.  options: of ``[placement]`` of a client of it.
    database_url: as given.
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
        """What it has said so far, a line a request: text."""
        return (self._directory / 'placement.log').read_text(errors='replace')

    def start(self):
        """Have it answer, at the same address each time."""
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
        # One that comes late would find all connections taken.
        processes.until(lambda: self._take_connections(begin),
                        'all processes of Placement')
        processes.until(self._answers, 'an answer of Placement')

    def _served(self, descriptor, output):
        """A process that answers on a socket."""
        return subprocess.Popen(
            # -P: this file has the name of what the program imports.
            [self._python, '-P', SERVER, str(descriptor),
             str(self._threads)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True, pass_fds=[descriptor],
            env={**os.environ,
                 'OS_PLACEMENT_CONFIG_DIR': str(self._directory)})

    def _take_connections(self, begin):
        self._check()
        said = (self._directory / 'placement.log').read_bytes()[begin:]
        return said.count(SERVES) == self._count

    def _check(self):
        assert all(process.poll() is None for process in self._processes), (
            f'it has ended:\n{self.log}')

    def _answers(self):
        self._check()
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(self.url, timeout=PATIENCE).ok

    def stop(self):
        """End it: connections are refused from then on."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes = []

    def hang(self):
        """Have it take connections and requests, but answer none."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        """Have it answer again, also what came in meanwhile."""
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        for process in self._processes:
            process.send_signal(number)

    def ask(self, method, path, body=None, version=VERSION):
        """The JSON of its answer, or None for an empty one.

        Raises Refused, with its words, when it says no.
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
        """Make a resource provider; its uuid.

        inventories: resource class -> total, or a dict of what Placement
            keeps of it (total, reserved, allocation_ratio, max_unit, ...).
        traits: those that are neither there nor standard are made.
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
        """Replace the inventories of a provider; its generation then.

        inventories: as of ``provider``.  generation: of before, if known.
        """
        self._make('resource_classes', inventories)
        return self._set(provider, 'inventories', {
            name: amount if isinstance(amount, dict) else {'total': amount}
            for name, amount in inventories.items()}, generation)

    def _make(self, what, names):
        """Make the traits or resource classes that are not standard."""
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
        """How often a provider was changed: int."""
        return self.ask('GET', f'/resource_providers/{provider}')['generation']

    def allocate(self, consumer, allocations, is_new=False, **fields):
        """Have a consumer hold allocations instead of those it has.

        allocations: provider uuid -> resource class -> amount; none of them
            takes all away.  is_new: whether it is known to have none.
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
        """All that Placement says of a consumer: dict.

        allocations, and if there are any: project_id, user_id,
        consumer_generation, consumer_type.
        """
        return self.ask('GET', f'/allocations/{consumer}')

    def allocations(self, consumer):
        """What a consumer holds: provider uuid -> resource class -> amount."""
        return {provider: held['resources'] for provider, held
                in self.consumer(consumer)['allocations'].items()}

    def usages(self, provider):
        """What is taken of a provider: resource class -> amount."""
        return self.ask(
            'GET', f'/resource_providers/{provider}/usages')['usages']

    def consumers(self, provider):
        """What is taken of a provider by whom.

        Consumer uuid -> resource class -> amount.
        """
        return {consumer: held['resources'] for consumer, held in self.ask(
            'GET', f'/resource_providers/{provider}/allocations')[
                'allocations'].items()}

    def clear(self):
        """Remove all providers, and what is held of them.

        What was asked before may still come meanwhile.
        """
        processes.until(self._cleared, 'no provider is left', interval=0.01)

    def _cleared(self):
        """Remove what has no children; whether there was nothing left."""
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
    """A Placement that answers, over a database of its own.

    directory: for its files.  kwargs: as for Placement.
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
    """A dump of the database that a Placement has made."""
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
    """The uuid of a consumer that Placement does not know yet."""
    return str(uuid.uuid4())
