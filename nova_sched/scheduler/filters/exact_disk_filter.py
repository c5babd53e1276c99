"""ExactDiskFilter: bare metal with exactly the flavor's disk."""

from nova_sched.scheduler.filters import amounts


class ExactDiskFilter(amounts.BaseExactFilter):
    """Hosts with exactly the flavor's disks and swap free."""

    code = 'disk'
    resource = amounts.DISK
    inputs = ('free_disk_mb',)
