"""Why Placement does not offer a host: what it asks for there, one by one.

A rule of a matrix like the others, of which Placement is the judge.
"""

import numpy as np

from nova_sched.placement import conditions
from nova_sched.rules import figures

#: Providers of whose amounts figures are told; each takes questions of its
#: own.
_MOST_READ = 20


def cut(limit):
    """Return what it means that Placement listed as many candidates as it may:
    text.
    """
    return (f'Placement listed as many candidates as [scheduler] '
            f'max_placement_results = {limit} allows, and may have left out '
            'hosts that fit, or fit better')


class PlacementRule:
    """One condition that Placement judges hosts by.

    condition: placement.conditions.Condition.  reader: ConditionReader.
    """

    def __init__(self, condition, reader):
        self.code, self.name = condition.code, f'Placement: {condition.name}'
        self._condition, self._reader = condition, reader
        self._left = {}

    def rejected(self, hosts):
        """Return which hosts of a HostBlock fail it: bool (n,).

        Raises PlacementError.
        """
        return np.array(self._reader.failing(
            self._condition, hosts.objects('uuid')), np.bool_)

    def codes(self, hosts, spec_obj):
        """As of BaseFilter."""
        return {self.code: len(hosts)}

    def why_not(self, host_state, spec_obj):
        """As of BaseHostFilter."""
        return self._condition.words

    def figures(self, hosts, spec_obj):
        """As of BaseFilter, of one host; of the first ones that are asked."""
        condition, [uuid] = self._condition, hosts.objects('uuid')
        if not condition.resource or (
                uuid not in self._left and len(self._left) >= _MOST_READ):
            return []
        if uuid not in self._left:
            self._left[uuid] = self._reader.left(condition, uuid)
        left = self._left[uuid]
        return [] if left is None else [figures.Figure(
            condition.resource, condition.resource, condition.amount,
            np.array([left], np.float64))]


def rules(adapter, queries):
    """Return the rules that Placement judges hosts by: list of PlacementRule.

    adapter: placement.adapter.PlacementAdapter, or what stands for it.
    queries: list of scheduler.utils.ResourceRequest.
    """
    reader = conditions.ConditionReader(adapter)
    return [PlacementRule(each, reader)
            for each in conditions.conditions(queries)]
