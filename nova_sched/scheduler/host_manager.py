"""The hosts of the cloud: reading them, and handing out copies to decide on.

``inventory`` keeps them; here is all that a driver does with them.
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

#: Policies of server groups that a host either keeps or breaks.
_HARD_POLICIES = ('affinity', 'anti-affinity')

#: Seconds that a request waits for other daemons to decide on its group, and
#: for them to hear of its picks.
GROUP_PATIENCE, HEARD_PATIENCE = 3, 1


@dataclasses.dataclass(frozen=True)
class Overview:
    """How the hosts are.

    up, down: how many are, by their compute services.
    ages: uuid of a cell -> seconds since it was read.
    lost: cell -> why its hosts are left out, texts.
    ahead: names of hosts whose heartbeats are of the future: list; by how
        many seconds at most, by_seconds.
    unmapped: names of hosts that no mapping leads to: list; None in a cloud
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
    """Reads the state of all hosts and hands out private snapshots of it.

    A third party adds one by an entry point in the namespace
    ``nova_sched.scheduler.host_manager``, or by its class path in
    ``[scheduler] host_manager``.
    """

    #: Whether picks are assumed, for later requests to see.
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
        """Read no heartbeats of services that are up, but that they are.

        For drivers whose rules look at nothing else of them.
        """
        self._reader.skip_heartbeats()

    def share_picks(self, sharing):
        """Share the picks of all workers: an inventory.shared_picks.Sharing.
        """
        self.state.share(sharing)

    def replace_reported(self, instead):
        """Have hosts read from now on report this: dict of column -> value of
        compute nodes.  For dry runs.
        """
        self._cache.instead = instead

    def check_set_up(self):
        """Check how it is set up, once; raise whatever is wrong with it."""

    def make_record(self, row, cell_uuid, ratios):
        """Return a host's record; arguments and result as of host_rows.record.
        """
        return host_rows.record(row, cell_uuid, ratios)

    def now(self):
        """Return seconds since the epoch."""
        return time.time()

    def refresh(self):
        """Read the hosts; what was committed before the call is seen.

        Returns the uuids of their compute nodes: Labels, the same object as
        long as none comes or goes.
        Raises DatabaseUnavailable when they cannot be read.
        """
        if LOG.isEnabledFor(logging.DEBUG):
            for cell in self._reader.cells:
                LOG.debug('Getting compute nodes and services for cell %s',
                          cell)
        return self._cache.refresh().columns['uuid']

    def aggregates(self):
        """Return all aggregates as of this moment: list of objects.Aggregate.

        Raises DatabaseUnavailable if they were never read.
        """
        return self._aggregates.all()

    def oldest_compute(self):
        """Return the least version of the compute services of all hosts.

        As last read, without those that are forced down; None without
        hosts, 0 where a service tells none.
        """
        columns = self.state.table.columns
        versions = columns['service_version'][~columns['service_forced_down']]
        return int(versions.min()) if len(versions) else None

    def count(self):
        """Return how many hosts there were when they were last read."""
        return self.state.table.size

    def contacts(self):
        """Return the Contact with each database; as of db.reader.HostReader.
        """
        return self._reader.contacts()

    def overview(self):
        """Return how the hosts were when they were last read: Overview."""
        table, now = self.state.table, self.now()
        # As of then: hosts are not down for nobody having read them since.
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

        As of the last read, compared with the one before the last call.
        """
        return self._freed_nodes.look(self.state.as_read)

    def count_claims(self, providers):
        """Count claims under way in a copy of Placement, as of
        SchedulingState.
        """
        self.state.count_claims(providers)

    def forget_aggregates(self):
        """Have the next ``refresh`` read the aggregates again."""
        self._cache.forget_aggregates()
        self._aggregates.forget()

    def close(self):
        """Close idle database connections; a later use opens new ones."""
        self._reader.close()
        self._locks.close()

    def take_over(self, predecessor):
        """Take the picks of another host manager, and its later ones."""
        if predecessor.state is not self.state:
            self.state.take_over(predecessor.state)
            self._in_use = predecessor._in_use

    def instances(self, keys=()):
        """Return where instances run, as far as a request asks: Instances.

        keys: what the request's own picks are known by.
        """
        table = self.state.table

        def on_hosts(*names):
            return self._reader.instances_on(
                table.columns['host'].values,
                names or db_reader.INSTANCE_COLUMNS, found.cells)

        found = instances.Instances(
            lambda uuids: self._reader.locate_instances(uuids, found.cells),
            on_hosts,
            images=lambda hosts, names: self._reader.image_properties(
                hosts, names, found.cells),
            details=lambda name: self._reader.instance_details(
                table.columns['host'].values, name, found.cells),
            unseen=_bare_metal_hosts(table),
            in_flight=lambda: self.state.pending(found.own))
        found.cells, found.own = _cells_of(table), set(keys)
        return found

    def look_up(self, instances, uuids):
        """Read where instances run that a request depends on.

        instances: Instances that knows it then.
        Raises DatabaseUnavailable.
        """
        if uuids:
            # First: what shows in the database meanwhile is in either.
            instances.pending = self.state.pending(instances.own)
            instances.know_located(uuids, self._reader.locate_instances(
                uuids, instances.cells))

    def list_all(self, instances):
        """Read all instances of all hosts; otherwise as ``look_up``."""
        if instances.pending is None:
            instances.pending = self.state.pending(instances.own)
        instances.know_all(self._reader.instances_on(
            self.state.table.columns['host'].values,
            db_reader.INSTANCE_COLUMNS, instances.cells))

    def list_each(self, instances, name):
        """Read one column of all instances; otherwise as ``look_up``."""
        if instances.pending is None:
            instances.pending = self.state.pending(instances.own)
        instances.know_each(name)

    def pending(self, found, request):
        """Return the picks that Instances do not show: {uuid: Entry}.

        Those that counted when the Instances were looked up and have shown in
        the database since are among them: the database was read before.  So
        are those of the request's server group that show since.
        None for Instances that were not looked up.
        """
        if found.pending is None:
            return None
        group = {placed.key: placed for placed in self.siblings(request)
                 if not found.is_known_to_run(placed.key)}
        earlier = {key: entry for key, entry in found.pending.items()
                   if key not in found.own
                   and not getattr(entry, 'forgotten', False)}
        return group | earlier | self.state.pending(found.own)

    def find_nodes(self, host, node, cell_uuid=None):
        """Return the compute nodes of a name; see db.reader.HostReader.

        Raises DatabaseUnavailable.
        """
        return self._reader.find_nodes(host, node, cell_uuid)

    def lost_cells(self):
        """Return the cells that do not answer: ``lost`` of hosts.table.Cells.
        """
        return tuple((str(cell), why)
                     for cell, why in self._reader.unavailable_cells().items())

    @contextlib.contextmanager
    def deciding_group(self, request):
        """Decide on members of a server group while no other daemon does.

        The block ends once the known daemons have acknowledged the picks.
        Groups without a hard policy are decided at once.
        """
        group = request.spec_obj.instance_group
        if (group is None or group.policy not in _HARD_POLICIES
                or not self.state.daemons):
            yield
            return
        with self._locks.held(f'group {request.group}',
                              GROUP_PATIENCE) as is_held:
            yield
            if is_held:
                self.state.wait_until_heard(HEARD_PATIENCE)

    def view(self, keys=()):
        """Return the hosts as last read, less the assumed picks: View.

        keys: of picks that do not count.
        """
        return self.state.view(keys)

    def snapshot(self, table, found, now=None,
                 offer=PLACEMENT_NOT_USED):
        """Return a private HostSnapshot of a table, with which services are
        up.

        A service is up when it is not forced down and its last heartbeat is
        at most service_down_time seconds away from ``now``, past or future.
        Of most services that are up it is only known that they were so when
        they were read.
        found: Instances of the request.  offer: what Placement offers.
        """
        now = self.now() if now is None else now
        found.cells = _cells_of(table)
        snapshot = table.with_columns(
            service_up=self._up(table, now)).snapshot(found, offer)
        snapshot.moment = now
        snapshot.pack_numa_cells = self._pack_numa_cells
        return snapshot

    def _up(self, table, now):
        """Return which services are up at a moment: bool (n,)."""
        alive = (np.abs(now - _last_seen(table, now))
                 <= self._service_down_time)
        return alive & ~table.columns['service_forced_down']

    def siblings(self, request):
        """Return the picks of other requests in a server group: list."""
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
    """Return when services were last seen: float64 (n,), seconds since the
    epoch.

    Those that were up when they were read, then.
    """
    fresh, seen = (table.columns[name] for name
                   in ('service_fresh', 'service_last_seen'))
    return (np.where(fresh, table.cells.first_read(now), seen)
            if fresh.any() else seen)


def _cells_of(table):
    """Return uuids of the cells that a table was read from: frozenset."""
    return frozenset(uuid for uuid, _ in table.cells.reads)


def _bare_metal_hosts(table):
    """Return names of the hosts that bare-metal nodes are of: frozenset."""
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
