"""NumInstancesWeigher: how many instances a host has."""

from nova_sched.scheduler import weights


class NumInstancesWeigher(weights.ColumnWeigher):
    """Instances on the host, by its own count and this request's picks.

    A positive multiplier packs instances, a negative one spreads them; the
    default, 0, does neither.
    """

    multiplier_name = 'num_instances_weight_multiplier'
    inputs = ('num_instances',)

    def column(self, hosts, spec_obj):
        return hosts.num_instances
