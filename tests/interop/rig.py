"""Schedulers side by side on the same databases and the same Placement.

Each has an exchange and a host name of its own; their other options, of a
nova.conf, are the same.
"""

import contextlib
import functools
import os
import signal
import sys
import uuid

import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import rpc
from tests.builders import messages
from tests.functional import conftest as functional
from tests.functional import processes
from tests.functional import stage
from tests.interop import placement as placements
from tests.interop import quick_mirror
from tests.interop import rig_answers
from tests.interop import rig_databases
from tests.interop import rig_providers
from tests.interop import rig_world

#: Name of a scheduler -> its program.
PROGRAMS = {
    'nova': lambda: [str(rig_databases.program('nova-scheduler'))],
    'ours': lambda: ['nova-sched'],
    'mirror': lambda: [sys.executable, '-m', quick_mirror.__name__],
}
#: Name -> [nova_sched] candidates.  Placement changes between two questions
#: faster than an ordinary copy is updated.
CANDIDATES = {'ours': 'list', 'mirror': 'mirror'}
FILTERS = (
    'ComputeFilter', 'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter',
    'SameHostFilter', 'DifferentHostFilter',
    'NUMATopologyFilter', 'PciPassthroughFilter')
_OPTIONS = {
    # Compute services send no heartbeats during the test.
    'DEFAULT__service_down_time': 3600,
    'DEFAULT__debug': os.environ.get('NOVA_SCHED_TEST_DEBUG', 'false'),
    'oslo_messaging_rabbit__rabbit_transient_queues_ttl': 60,
    'scheduler__workers': 1,
    # So many alternates that an answer has all fitting hosts.
    'scheduler__max_attempts': 30,
    'scheduler__limit_tenants_to_placement_aggregate': 'true',
    'scheduler__enable_isolated_aggregate_filtering': 'true',
    'scheduler__query_placement_for_image_type_support': 'true',
    'scheduler__image_metadata_prefilter': 'true',
    'filter_scheduler__enabled_filters': ','.join(FILTERS),
    'filter_scheduler__pci_in_placement': 'true',
}


class Scheduler(processes.Program):
    """A daemon that serves on an exchange of its own.

    name: of PROGRAMS.  directory: for its files.  options: as
    ``group__option``, without exchange and host.
    identity: the name of both, by default a new name.
    """

    def __init__(self, name, directory, options, identity=None):
        self.name = name
        unique = f'{name}-{uuid.uuid4().hex[:8]}'
        self.exchange = self.host = identity or unique
        files = directory / unique
        if name in CANDIDATES:
            options = {**options, 'nova_sched__candidates': CANDIDATES[name]}
        self.config_file = stage.write_config(
            files.with_suffix('.conf'), **options,
            DEFAULT__control_exchange=self.exchange, DEFAULT__host=self.host)
        program, *words = PROGRAMS[name]()
        super().__init__(program, [*words, '--config-file', self.config_file],
                         files.with_suffix('.log'))

    def end(self):
        """Kill a nova-scheduler, whose stop takes long; stop others."""
        if self.name == 'nova' and self.running:
            os.killpg(self.pid, signal.SIGKILL)
        super().end()


class Rig:
    """A cloud, and schedulers that decide on it.

    directory: for files.  names: of the schedulers, of PROGRAMS.
    seed: of the World.
    """

    def __init__(self, directory, names, seed):
        self._directory, self._names = directory, names
        self._exit = contextlib.ExitStack()
        self.world = rig_world.World(seed)
        self.bus = functional.broker()
        self.schedulers = []

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
        self.placement = self._exit.enter_context(
            placements.open_placement(self._directory))
        rig_providers.fill(self.placement, self.world)
        self.databases = databases = rig_databases.Databases(
            self._directory, self.bus, self.world.cells,
            disabled=self.world.cells[-1:])
        self._exit.callback(databases.drop)
        databases.make()
        databases.fill(self.world)
        self.cells = {name: databases.cell(name) for name in self.world.cells}
        self.transport = rpc.get_transport(config.new_conf([], [str(
            stage.write_config(self._directory / 'caller.conf',
                               DEFAULT__transport_url=self.bus))]))
        self._exit.callback(self.transport.cleanup)
        self.schedulers = [self.start(name) for name in self._names]
        for scheduler in self.schedulers:
            self.wait_for(scheduler)

    def start(self, name, identity=None, **options):
        """Start a Scheduler with additional options."""
        scheduler = Scheduler(name, self._directory, {
            **_OPTIONS, **self.databases.options(), **self.placement.settings,
            'placement__timeout': processes.PATIENCE, **options},
            identity)
        self._exit.callback(scheduler.end)
        return scheduler

    def wait_for(self, scheduler):
        """Wait until a scheduler answers."""
        processes.until(functools.partial(self._serves, scheduler),
                        f'an answer of {scheduler.host}')

    def _client(self, scheduler, **target):
        # To one daemon: the shared queue has the same name on all exchanges.
        return messages.raw_client(
            self.transport, exchange=scheduler.exchange,
            server=scheduler.host, **target)

    def _serves(self, scheduler):
        assert scheduler.running, f'it has ended:\n{scheduler.text[-4000:]}'
        client = self._client(scheduler, version='1.1', namespace='baseapi')
        with contextlib.suppress(messaging.MessagingTimeout):
            return client.prepare(timeout=2).call(
                context.RequestContext(), 'ping', arg='all is well')

    def ask(self, scheduler, question):
        """Send a Question to a scheduler; return the Outcome.

        Restores Placement's allocations.
        """
        rig_providers.hold(self.placement, question.held)
        try:
            refused, selections = self.call(scheduler, question)
            allocations = rig_providers.dump(self.placement,
                                             question.consumers)
        finally:
            rig_providers.forget(self.placement, question.consumers)
        return rig_answers.outcome(self.world, question, refused, selections,
                                   allocations)

    def call(self, scheduler, question):
        """Call a scheduler: (refusal or None, selections)."""
        client = self._client(scheduler, version='4.5')
        try:
            return None, client.prepare(timeout=processes.PATIENCE).call(
                context.RequestContext(user_id='a-user',
                                       project_id='a-project'),
                'select_destinations', instance_uuids=question.uuids,
                spec_obj=question.spec, return_objects=True,
                return_alternates=True)
        except messaging.RemoteError as error:
            return rig_answers.refusal(error), []
        except messaging.MessagingTimeout:
            # With its name, so that two timeouts differ.
            return ['no answer', scheduler.host], []
