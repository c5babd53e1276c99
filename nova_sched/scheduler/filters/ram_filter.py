"""RamFilter: enough memory, with overcommit."""

from nova_sched.rules import amounts


class RamFilter(amounts.BaseCapacityFilter):
    """Hosts whose free RAM, after overcommit, holds the flavor.

    The host's ``ram_allocation_ratio`` multiplies its memory for all
    instances together; one alone must fit into what is really there.
    """

    code = 'ram'
    resource = amounts.RAM
    key = 'ram_allocation_ratio'
    inputs = 'total_usable_ram_mb', 'free_ram_mb', key
    too_small = ('%(host)s does not have %(needed)s MB usable ram before '
                 'overcommit, it only has %(total)s MB.')
    too_full = ('%(host)s does not have %(needed)s MB usable ram, it only '
                'has %(usable)s MB usable ram.')


#: What plug-ins derive from that bring a ratio of their own.
BaseRamFilter = RamFilter


class AggregateRamFilter(amounts.PerAggregate, RamFilter):
    """RamFilter with ratios that aggregates may set."""

    inputs = *RamFilter.inputs, 'aggregates'
