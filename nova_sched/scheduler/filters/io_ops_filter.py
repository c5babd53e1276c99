"""IoOpsFilter: hosts that are not busy building and moving instances."""

from nova_sched.rules import amounts


class IoOpsFilter(amounts.BaseCountFilter):
    """Hosts with fewer I/O operations than ``max_io_ops_per_host``.

    Instances being built, resized, migrated, imaged and the like count, and
    those that the same request has placed before.
    """

    code = 'io_ops'
    column, noun = 'num_io_ops', 'I/O operations'
    inputs = (column,)
    key = 'max_io_ops_per_host'
    too_many = ('%(host)s fails I/O ops check: Max IOs per host is set to '
                '%(most)s')

    def configure(self, conf):
        self.most = conf.filter_scheduler.max_io_ops_per_host


class AggregateIoOpsFilter(amounts.PerAggregate, IoOpsFilter):
    """IoOpsFilter with maxima that aggregates may set."""

    inputs = *IoOpsFilter.inputs, 'aggregates'
