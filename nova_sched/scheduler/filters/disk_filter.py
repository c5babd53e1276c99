"""DiskFilter: enough disk, with overcommit."""

from nova_sched.scheduler.filters import amounts


class DiskFilter(amounts.BaseCapacityFilter):
    """Hosts with enough free disk for the flavor, after overcommit.

    The flavor's root disk does not count if it is on a volume.

    The host's ``disk_allocation_ratio`` multiplies its disk for all instances
    together; a single instance must not exceed the physical disk.
    """

    code = 'disk'
    resource = amounts.DISK
    key = 'disk_allocation_ratio'
    inputs = 'total_usable_disk_gb', 'free_disk_mb', key
    too_small = ('%(host)s does not have %(needed)s MB usable disk space '
                 'before overcommit, it only has %(total)s MB.')
    too_full = ('%(host)s does not have %(needed)s MB usable disk, it only '
                'has %(usable)s MB usable disk.')


class AggregateDiskFilter(amounts.PerAggregate, DiskFilter):
    """DiskFilter with ratios that aggregates may set."""

    inputs = *DiskFilter.inputs, 'aggregates'
