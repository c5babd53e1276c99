"""NumInstancesWeigher: weighs the number of instances on a host."""

from nova_sched.scheduler import weights


class NumInstancesWeigher(weights.BaseInputWeigher):
    """Weighs the instances that the host reports and this request's picks.

    A positive multiplier packs instances, a negative multiplier spreads them.
    The default, 0, does neither.
    """

    multiplier_name = 'num_instances_weight_multiplier'
    inputs = ('num_instances',)
