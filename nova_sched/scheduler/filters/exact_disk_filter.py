"""ExactDiskFilter: bare metal of exactly the right disk."""

from nova_sched.scheduler.filters import capacity


class ExactDiskFilter(capacity.BaseExactFilter):
    """Hosts whose free disk is exactly the flavor's disks and swap."""

    resource = capacity.DISK
