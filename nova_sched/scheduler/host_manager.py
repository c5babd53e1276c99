"""Getting the hosts of a request, from whatever knows them."""

import time

import numpy as np

from nova_sched import conf as config
from nova_sched.db import reader as db_reader
from nova_sched.hosts import instances
from nova_sched.hosts import rows as host_rows
from nova_sched.inventory import cache as host_cache
from nova_sched.plugins import kinds


class HostManager:
    """Reads the state of all hosts and hands out private snapshots of it.

    A third party adds one by an entry point in the namespace
    ``nova_sched.scheduler.host_manager``, or by its class path in
    ``[scheduler] host_manager``.

    cache: HostCache with the newest table.
    """

    def __init__(self, conf):
        self._reader = db_reader.HostReader(
            conf, db_reader.configured_cells(conf))
        self.cache = host_cache.HostCache(
            self._reader, config.fallback_ratios(conf), self.make_record)
        self._service_down_time = config.service_down_time(conf)
        self._pack_numa_cells = (
            conf.compute.packing_host_numa_cells_allocation_strategy)

    def make_record(self, row, cell_uuid, ratios):
        """A host's record; arguments and result as of host_rows.record."""
        return host_rows.record(row, cell_uuid, ratios)

    def close(self):
        """Close idle database connections; a later use opens new ones."""
        self._reader.close()

    def instances(self, table):
        """Where instances run, as far as a request asks: Instances."""
        return instances.Instances(
            self._reader.locate_instances,
            lambda: self._reader.instances_on(
                table.columns['host'].values),
            images=self._reader.image_properties,
            unseen=_bare_metal_hosts(table))

    def snapshot(self, table, found=None, candidates=None):
        """A private HostSnapshot of a table, with which services are up.

        A service is up when it is not forced down and its last heartbeat is
        at most service_down_time seconds away from now, past or future.
        found: Instances of the request, if there are already.
        candidates: candidates.Candidates, or None if Placement was not asked.
        """
        seen = table.columns['service_last_seen']
        alive = np.abs(time.time() - seen) <= self._service_down_time
        up = alive & ~table.columns['service_forced_down']
        snapshot = table.with_columns(service_up=up).snapshot(
            found or self.instances(table), candidates)
        snapshot.pack_numa_cells = self._pack_numa_cells
        return snapshot


def _bare_metal_hosts(table):
    """Names of the hosts that bare-metal nodes are of: frozenset."""
    hosts = table.columns['host']
    codes = np.unique(hosts.codes[table.columns['bare_metal']])
    return frozenset(hosts.values[code] for code in codes.tolist())


_HOST_MANAGER = kinds.Kind(
    '[scheduler] host_manager', 'nova_sched.scheduler.host_manager',
    'host manager', HostManager)


def load_host_manager(conf):
    """The host manager that ``[scheduler] host_manager`` names, constructed.

    Raises ConfigurationError for a name that cannot be loaded.
    """
    return _HOST_MANAGER.load(config.host_manager_name(conf))(conf)
