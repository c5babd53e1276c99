"""NumInstancesFilter: hosts below a maximum number of instances."""

from nova_sched.scheduler.filters import amounts


class NumInstancesFilter(amounts.BaseCountFilter):
    """Hosts with fewer instances than ``max_instances_per_host``.

    The number is the compute service's count plus this request's earlier
    picks.
    """

    code = 'instances'
    column, noun = 'num_instances', 'instances'
    inputs = (column,)
    key = 'max_instances_per_host'
    too_many = ('%(host)s fails num_instances check: Max instances per host '
                'is set to %(most)s')


class AggregateNumInstancesFilter(amounts.PerAggregate, NumInstancesFilter):
    """NumInstancesFilter with maxima that aggregates may set."""

    inputs = *NumInstancesFilter.inputs, 'aggregates'
