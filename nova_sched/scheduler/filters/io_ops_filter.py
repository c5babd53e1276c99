"""IoOpsFilter: hosts where few instances are built or moved."""

from nova_sched.scheduler.filters import amounts


class IoOpsFilter(amounts.BaseCountFilter):
    """Hosts with fewer I/O operations than ``max_io_ops_per_host``.

    The number includes instances that are building, resizing, migrating, being
    imaged and so on, and this request's earlier picks.
    """

    code = 'io_ops'
    column, noun = 'num_io_ops', 'I/O operations'
    inputs = (column,)
    key = 'max_io_ops_per_host'
    too_many = ('%(host)s fails I/O ops check: Max IOs per host is set to '
                '%(most)s')


class AggregateIoOpsFilter(amounts.PerAggregate, IoOpsFilter):
    """IoOpsFilter with maxima that aggregates may set."""

    inputs = *IoOpsFilter.inputs, 'aggregates'
