"""The caching scheduler: as the filter scheduler, on hosts kept in memory.

No request waits for a database, unless it asks where instances run; the
others do not wait for it, unless a rule looks at all instances of hosts.  A
periodic task reads the hosts anew; what the workers placed is in flight until
its instances show in the database.  Each worker has a cache of its own.
"""

from nova_sched.scheduler import filter_scheduler


class CachingScheduler(filter_scheduler.FilterScheduler):
    """Decides on periodically refreshed state plus its own placements."""

    PERIODIC = True
    ONE_PROCESS = True
    USES_ALLOCATION_CANDIDATES = False

    def run_periodic_tasks(self, context):
        """Read the hosts anew."""
        self.host_manager.refresh()

    def _read_hosts(self, record, offer):
        """Nothing: the last round of periodic work has read them."""
