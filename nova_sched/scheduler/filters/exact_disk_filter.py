"""ExactDiskFilter: bare metal with exactly the flavor's disk."""

from nova_sched.rules import amounts


class ExactDiskFilter(amounts.BaseExactFilter):
    """Hosts whose free disk is exactly the flavor's disks and swap."""

    code = 'disk'
    resource = amounts.DISK
    inputs = ('free_disk_mb',)
