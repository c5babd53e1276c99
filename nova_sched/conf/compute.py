"""[compute]: the option that affects decisions."""

from oslo_config import cfg

GROUP = 'compute'
HELP = 'The compute option that affects decisions.'

OPTS = [
    cfg.BoolOpt(
        'packing_host_numa_cells_allocation_strategy', default=False,
        help="""
Whether NUMATopologyFilter fills one NUMA cell of a host before it uses the
next (true) or prefers the emptiest one (false). Must be the same on the
compute hosts, or their choice differs from the scheduler's.
"""),
]
