"""The host manager: reads the hosts and returns private snapshots of them.

It is a driver's interface to ``inventory``, which has the host table and the
ledger.
"""

import contextlib
import dataclasses
import time

import numpy as np
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.db import cell_reader
from nova_sched.db import engine as db_engine
from nova_sched.db import reader as db_reader
from nova_sched.db.named_locks import NamedLocks
from nova_sched.hosts import instances
from nova_sched.hosts import rows as host_rows
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.inventory.api import ApiInventory
from nova_sched.inventory.cache import HostCache
from nova_sched.inventory.freed import FreedNodes
from nova_sched.inventory.state import SchedulingState
from nova_sched.plugins import classes

LOG = logging.getLogger(__name__)

#: Policies of server groups that must not be violated.
_HARD_POLICIES = ('affinity', 'anti-affinity')

#: Seconds that a request waits for another daemon's decision on its group, and
#: for other daemons to acknowledge its picks.
GROUP_PATIENCE, ACKNOWLEDGEMENT_PATIENCE = 3, 1


@dataclasses.dataclass(frozen=True)
class Overview:
    """The health of the hosts.

    up, down: numbers of hosts with a compute service that is up, or down.
    ages: uuid of a cell -> seconds since it was read.
    lost: cell -> reason that its hosts are missing, texts.
    ahead: names of hosts with heartbeats in the future: list.
    by_seconds: maximum number of seconds that they are in the future.
    unmapped: names of hosts without a host mapping: list; None in a cloud
        without mappings.
    """

    up: int
    down: int
    ages: dict
    lost: dict
    ahead: list
    by_seconds: float
    unmapped: list | None = None


class HostManager:
    """Reads the state of all hosts and returns private snapshots of it.

    A third party adds one by an entry point in the namespace
    ``nova_sched.scheduler.host_manager``, or by its class path in
    ``[scheduler] host_manager``.
    """

    #: Whether picks are assumed, so that later requests see them.
    remembers = True

    def __init__(self, conf):
        self._reader = db_reader.HostReader(conf)
        self._service_down_time = config.service_down_time(conf)
        self._pack_numa_cells = (
            conf.compute.packing_host_numa_cells_allocation_strategy)
        state = SchedulingState(
            conf.nova_sched.pick_lifetime, self.now, self._pack_numa_cells)
        self._in_use = state.in_use
        self._locks = NamedLocks(db_engine.database(
            conf, 'api_database' if conf.api_database.connection
            else 'database'))
        self._freed_nodes = FreedNodes()
        self._aggregates = ApiInventory(self._reader)
        self._cache = HostCache(
            self._reader, config.fallback_ratios(conf), self.make_record,
            state)

    @property
    def state(self):
        """The SchedulingState in use."""
        return self._in_use[0]

    def skip_heartbeats(self):
        """Do not read the heartbeats of services, only whether they are up.

        For drivers without rules that need heartbeats.
        """
        self._reader.skip_heartbeats()

    def share_picks(self, sharing):
        """Share picks with other workers by a shared_picks.Sharing."""
        self.state.sharing = sharing

    def replace_reported(self, instead):
        """Replace values of all compute nodes that are read afterwards.

        instead: dict of column -> value.  For dry runs.
        """
        self._cache.instead = instead

    def check_set_up(self):
        """Check the configuration, once.  Raises an exception for an error."""

    def make_record(self, row, cell_uuid, ratios):
        """Return a host's record, see hosts.rows.record."""
        return host_rows.record(row, cell_uuid, ratios)

    def now(self):
        """Return the current time in seconds since the epoch."""
        return time.time()

    def refresh(self):
        """Read all changes of the hosts that were committed before the call.

        Returns the uuids of their compute nodes: Labels, the same object until
        a node is added or removed.
        Raises DatabaseUnavailable when they cannot be read.
        """
        if LOG.isEnabledFor(logging.DEBUG):
            for cell in self._reader.cells:
                LOG.debug('Getting compute nodes and services for cell %s',
                          cell)
        return self._cache.refresh().columns['uuid']

    def aggregates(self):
        """Return all current aggregates: list of objects.Aggregate.

        Raises DatabaseUnavailable if they were never read.
        """
        return self._aggregates.all()

    def oldest_compute(self):
        """Return the lowest version of all compute services: int.

        As last read, without services that are forced down.  A service without
        a version counts as 0.  None without hosts.
        """
        columns = self.state.table.columns
        versions = columns['service_version'][~columns['service_forced_down']]
        return int(versions.min()) if len(versions) else None

    def count(self):
        """Return the number of hosts, as last read."""
        return self.state.table.size

    def contacts(self):
        """Return the Contact with each database, see db.reader.HostReader."""
        return self._reader.contacts()

    def overview(self):
        """Return the health of the hosts, as last read: Overview."""
        table, now = self.state.table, self.now()
        # Services are compared with the time of the read: heartbeats look old
        # if the hosts were not read for a while.
        read_at = max((began for _, began in table.cells.reads), default=now)
        up, seen = self._up(table, read_at), _last_seen(table, read_at)
        ahead = np.flatnonzero(seen > read_at + cell_reader.AHEAD)
        hosts = table.columns['host']
        return Overview(
            int(np.count_nonzero(up)), int(np.count_nonzero(~up)),
            {uuid: now - began for uuid, began in table.cells.reads},
            dict(table.cells.lost),
            sorted({hosts.values[code]
                    for code in hosts.codes[ahead].tolist()}),
            float(seen[ahead].max() - read_at) if len(ahead) else 0.0,
            None if table.cells.unmapped is None
            else sorted(table.cells.unmapped))

    def freed_nodes(self):
        """Return the uuids of compute nodes that instances have left: list.

        Compares the hosts as last read with the hosts at the previous call.
        """
        return self._freed_nodes.look(self.state.as_read)

    def count_claims(self, providers):
        """Count claims in progress in the mirror's Providers.

        See SchedulingState.
        """
        self.state.count_claims(providers)

    def forget_aggregates(self):
        """Make the next ``refresh`` read the aggregates again."""
        self._cache.forget_aggregates()
        self._aggregates.forget()

    def close(self):
        """Close idle database connections; a later use opens new ones."""
        self._reader.close()
        self._locks.close()

    def take_over(self, predecessor):
        """Take over another host manager's ledger, which both share then."""
        if predecessor.state is not self.state:
            self.state.take_over(predecessor.state)
            self._in_use = predecessor._in_use

    def instances(self, keys=()):
        """Return the Instances of a request, which read on demand.

        keys: keys of the request's own ledger entries.
        """
        table = self.state.table

        def on_hosts(*names):
            return self._reader.instances_on(
                table.columns['host'].values,
                names or db_reader.INSTANCE_COLUMNS, running.cells)

        running = instances.Instances(
            lambda uuids: self._reader.locate_instances(uuids, running.cells),
            on_hosts,
            images=lambda hosts, names: self._reader.image_properties(
                hosts, names, running.cells),
            details=lambda name: self._reader.instance_details(
                table.columns['host'].values, name, running.cells),
            unseen=_bare_metal_hosts(table),
            in_flight=lambda: self.state.pending(running.own))
        running.cells, running.own = _cells_of(table), set(keys)
        return running

    def look_up(self, instances, uuids):
        """Read the hosts of the instances that a request depends on.

        instances: Instances to update.
        Raises DatabaseUnavailable.
        """
        if uuids:
            self._note_pending(instances)
            instances.cache_located(uuids, self._reader.locate_instances(
                uuids, instances.cells))

    def list_all(self, instances):
        """Read all instances of all hosts into Instances.

        Raises DatabaseUnavailable.
        """
        self._note_pending(instances)
        instances.cache_all(self._reader.instances_on(
            self.state.table.columns['host'].values,
            db_reader.INSTANCE_COLUMNS, instances.cells))

    def list_each(self, instances, name):
        """Read one column of all instances into Instances.

        Raises DatabaseUnavailable.
        """
        self._note_pending(instances)
        instances.cache_each(name)

    def _note_pending(self, instances):
        """Set the picks of other requests, before the database is read.

        An instance that appears in between is then in at least one of them.
        """
        if instances.pending is None:
            instances.pending = self.state.pending(instances.own)

    def pending(self, instances, request):
        """Return the picks that Instances do not show: {uuid: PlacedInstance}.

        They include entries that have ended since the Instances were read,
        because their instances were not in the database then.  They also
        include such entries of the request's server group.
        None if nothing was read into the Instances.
        """
        if instances.pending is None:
            return None
        group = {placed.key: placed for placed in self.siblings(request)
                 if not instances.is_known_to_run(placed.key)}
        earlier = {key: entry for key, entry in instances.pending.items()
                   if key not in instances.own
                   and not getattr(entry, 'forgotten', False)}
        return group | earlier | self.state.pending(instances.own)

    def find_nodes(self, host, node, cell_uuid=None):
        """Return the compute nodes of a name, see db.reader.HostReader.

        Raises DatabaseUnavailable.
        """
        return self._reader.find_nodes(host, node, cell_uuid)

    def lost_cells(self):
        """Return the unavailable cells, as ``lost`` of hosts.table.Cells."""
        return tuple((str(cell), why)
                     for cell, why in self._reader.unavailable_cells().items())

    @contextlib.contextmanager
    def deciding_group(self, request):
        """Decide a block under the named lock of a request's server group.

        The lock is held until other daemons have acknowledged the picks, or
        for ACKNOWLEDGEMENT_PATIENCE seconds.  After GROUP_PATIENCE seconds the
        block runs without the lock.  No lock is taken for groups without a
        hard policy, and if there are no other daemons.
        """
        group = request.spec_obj.instance_group
        if (group is None or group.policy not in _HARD_POLICIES
                or not self.state.sharing.daemons):
            yield
            return
        with self._locks.held(f'group {request.group}',
                              GROUP_PATIENCE) as is_held:
            yield
            if is_held:
                self.state.sharing.wait_until_acknowledged(
                    ACKNOWLEDGEMENT_PATIENCE)

    def view(self, keys=()):
        """Return the hosts as last read, less the assumed picks: View.

        keys: keys of picks that do not count.
        """
        return self.state.view(keys)

    def snapshot(self, table, instances, now=None,
                 offer=PLACEMENT_NOT_USED):
        """Return a private HostSnapshot of a table.

        The column service_up is computed: a service is up when it is not
        forced down and its last heartbeat is at most service_down_time seconds
        away from ``now``, past or future.  Where heartbeats are not read, a
        service that was up counts as last seen when it was read.
        instances: Instances of the request.
        offer: value of hosts.allocation_candidates.
        """
        now = self.now() if now is None else now
        instances.cells = _cells_of(table)
        snapshot = table.with_columns(
            service_up=self._up(table, now)).snapshot(instances, offer)
        snapshot.moment = now
        snapshot.pack_numa_cells = self._pack_numa_cells
        return snapshot

    def _up(self, table, now):
        """Return which services are up at a moment: bool (n,)."""
        alive = (np.abs(now - _last_seen(table, now))
                 <= self._service_down_time)
        return alive & ~table.columns['service_forced_down']

    def siblings(self, request):
        """Return the picks of other requests in the same server group: list.
        """
        group = request.spec_obj.instance_group
        if group is None:
            return []
        own = set(request.keys())
        return [placed for placed in self.state.of_group(
            request.group, group.members or ()) if placed.key not in own]

    def assumes(self, request):
        """Return whether the picks of a request are assumed.

        A rebuild places nothing.
        """
        return self.remembers and not request.spec_obj.is_rebuild


def _last_seen(table, now):
    """Return when services were last seen: float64 (n,).

    In seconds since the epoch.  If heartbeats are not read, a service that was
    up counts as last seen when it was read.
    """
    fresh, seen = (table.columns[name] for name
                   in ('service_fresh', 'service_last_seen'))
    return (np.where(fresh, table.cells.first_read(now), seen)
            if fresh.any() else seen)


def _cells_of(table):
    """Return the uuids of the cells that a table was read from: frozenset."""
    return frozenset(uuid for uuid, _ in table.cells.reads)


def _bare_metal_hosts(table):
    """Return the names of hosts with bare-metal nodes: frozenset."""
    hosts, bare_metal = table.columns['host'], table.columns['bare_metal']
    if not bare_metal.any():
        return frozenset()
    codes = np.unique(hosts.codes[bare_metal])
    return frozenset(hosts.values[code] for code in codes.tolist())


_HOST_MANAGER = classes.Kind(
    '[scheduler] host_manager', 'nova_sched.scheduler.host_manager',
    'host manager', HostManager, novas='nova.scheduler.host_manager')


def host_manager_class(conf):
    """Return the class that ``[scheduler] host_manager`` names.

    Raises ConfigurationError for a name that cannot be loaded.
    """
    return _HOST_MANAGER.load(config.host_manager_name(conf))


def load_host_manager(conf):
    """Return the configured host manager, constructed.

    Raises ConfigurationError for a name that cannot be loaded, and for a
    host manager that cannot be set up.
    """
    return _HOST_MANAGER.make(config.host_manager_name(conf), conf)
