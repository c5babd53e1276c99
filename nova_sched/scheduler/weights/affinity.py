"""Soft (anti-)affinity: the more, or fewer, of a group on a host, the better.

Nothing is refused: these only move the members of a group towards each other
or apart, as far as the other weighers let them.
"""

import collections

import numpy as np

from nova_sched.rules import rule_inputs
from nova_sched.scheduler import weights


class _SoftGroupWeigher(weights.ColumnWeigher):
    """Members of the request's server group on a host.

    0 for every host when the group has another policy, or there is none.
    """

    #: The policy of the groups it counts for.
    policy = None
    #: 1 where members attract each other, -1 where they repel.
    direction = 1
    inputs = 'host', rule_inputs.LOCATED

    def inputs_for(self, spec_obj):
        return self.inputs if self._counts(spec_obj.instance_group) else ()

    def _counts(self, group):
        """Return whether members of a group, or None, count."""
        return group is not None and group.policy == self.policy

    def column(self, hosts, spec_obj):
        group = spec_obj.instance_group
        if not self._counts(group):
            return np.zeros(len(hosts))
        located = hosts.instances.located(list(dict.fromkeys(
            group.members or ())))
        members = collections.Counter(located.values())
        return hosts.looked_up('host', {
            host: self.direction * count for host, count in members.items()})


class ServerGroupSoftAffinityWeigher(_SoftGroupWeigher):
    """Members of a soft-affinity group on the host; most is best."""

    multiplier_name = 'soft_affinity_weight_multiplier'
    policy = 'soft-affinity'


class ServerGroupSoftAntiAffinityWeigher(_SoftGroupWeigher):
    """Members of a soft-anti-affinity group on the host; fewest is best."""

    multiplier_name = 'soft_anti_affinity_weight_multiplier'
    policy = 'soft-anti-affinity'
    direction = -1
