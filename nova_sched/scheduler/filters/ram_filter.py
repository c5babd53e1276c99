"""RamFilter: enough memory, with overcommit."""

from nova_sched.scheduler.filters import amounts


class RamFilter(amounts.BaseCapacityFilter):
    """Hosts with enough free RAM for the flavor, after overcommit.

    The host's ``ram_allocation_ratio`` multiplies its memory for all
    instances together; a single instance must not exceed the physical memory.
    """

    code = 'ram'
    resource = amounts.RAM
    key = 'ram_allocation_ratio'
    inputs = 'total_usable_ram_mb', 'free_ram_mb', key
    too_small = ('%(host)s does not have %(needed)s MB usable ram before '
                 'overcommit, it only has %(total)s MB.')
    too_full = ('%(host)s does not have %(needed)s MB usable ram, it only '
                'has %(usable)s MB usable ram.')


#: Nova's base class of plug-ins that compute the ratio themselves.
BaseRamFilter = RamFilter


class AggregateRamFilter(amounts.PerAggregate, RamFilter):
    """RamFilter with ratios that aggregates may set."""

    inputs = *RamFilter.inputs, 'aggregates'
