"""The caching scheduler: a filter scheduler with hosts cached in memory.

Requests do not read the hosts, so they wait for a database only if they depend
on where instances run.  A periodic task refreshes the hosts.  Picks stay in
the ledger until their instances appear in the database.  Each worker has a
cache of its own.
"""

from nova_sched.scheduler import filter_scheduler


class CachingScheduler(filter_scheduler.FilterScheduler):
    """Decides on periodically refreshed hosts and the ledger."""

    PERIODIC = True
    ONE_PROCESS = True
    USES_ALLOCATION_CANDIDATES = False

    def run_periodic_tasks(self, context):
        """Refresh the hosts."""
        self.host_manager.refresh()

    def _read_hosts(self, record, offer):
        """Read nothing: the periodic task has read the hosts."""
