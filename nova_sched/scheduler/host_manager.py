"""Getting the hosts of a request, from whatever knows them."""

import time

import numpy as np

from nova_sched import conf as config
from nova_sched.db import reader as db_reader
from nova_sched.scheduler import host_cache
from nova_sched.scheduler import instances


class HostManager:
    """Reads the state of all hosts and hands out private snapshots of it.

    cache: HostCache with the newest table.
    """

    def __init__(self, conf):
        self._reader = db_reader.HostReader(
            conf, db_reader.configured_cells(conf))
        self.cache = host_cache.HostCache(self._reader,
                                          config.fallback_ratios(conf))
        self._service_down_time = config.service_down_time(conf)

    def close(self):
        """Close idle database connections; a later use opens new ones."""
        self._reader.close()

    def snapshot(self, table, placed=None):
        """A private HostSnapshot of a table, with which services are up.

        A service is up when it is not forced down and its last heartbeat is
        at most service_down_time seconds away from now, past or future.
        placed: see instances.Instances.
        """
        seen = table.columns['service_last_seen']
        alive = np.abs(time.time() - seen) <= self._service_down_time
        up = alive & ~table.columns['service_forced_down']
        found = instances.Instances(
            self._reader.locate_instances,
            lambda: self._reader.instances_on(
                table.columns['host'].values), placed)
        return table.with_columns(service_up=up).snapshot(found)
