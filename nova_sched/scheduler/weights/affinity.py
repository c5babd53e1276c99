"""Soft affinity weighers: prefer hosts with many, or few, group members.

Unlike the filters, they reject no host.
"""

import collections

import numpy as np

from nova_sched.rules import rule_inputs
from nova_sched.scheduler import weights


class _SoftGroupWeigher(weights.ColumnWeigher):
    """Weighs the members of the request's server group on a host.

    0 for all hosts without a group of the weigher's policy.
    """

    #: The policy of the weigher.
    policy = None
    #: 1 to prefer hosts with many members, -1 for few.
    direction = 1
    inputs = 'host', rule_inputs.LOCATED

    def inputs_for(self, spec_obj):
        return self.inputs if self._counts(spec_obj.instance_group) else ()

    def _counts(self, group):
        """Return whether a group (or None) has the weigher's policy."""
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
    """Prefers hosts with many members of a soft-affinity group."""

    multiplier_name = 'soft_affinity_weight_multiplier'
    policy = 'soft-affinity'


class ServerGroupSoftAntiAffinityWeigher(_SoftGroupWeigher):
    """Prefers hosts with few members of a soft-anti-affinity group."""

    multiplier_name = 'soft_anti_affinity_weight_multiplier'
    policy = 'soft-anti-affinity'
    direction = -1
