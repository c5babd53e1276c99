"""Why Placement does not offer a host: what it asks for there, one by one.

A rule of a matrix like the others, of which Placement is the judge.
"""

import numpy as np

from nova_sched import exception
from nova_sched.placement import conditions
from nova_sched.rules import figures

#: Providers of whose amounts figures are told; each takes questions of its
#: own.
_MOST_READ = 20

#: Resource class -> what hosts of a HostBlock report free, as "host list"
#: shows it.
_FREE = {
    'VCPU': lambda hosts: hosts.vcpus_total - hosts.vcpus_used,
    'MEMORY_MB': lambda hosts: hosts.free_ram_mb,
    'DISK_GB': lambda hosts: hosts.free_disk_mb // 1024}


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
        self._amounts = {}

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
        found = self._read(uuid)
        return [] if found is None else [figures.Figure(
            condition.resource, condition.resource, condition.amount,
            np.array([found.capacity - found.used], np.float64))]

    def _read(self, uuid):
        """Return what a provider has of the resource, an Amounts; None if that
        is not known.
        """
        condition, known = self._condition, self._amounts
        if condition.resource and uuid not in known and (
                len(known) < _MOST_READ):
            known[uuid] = self._reader.amounts(condition, uuid)
        return known.get(uuid)

    def counted(self, hosts):
        """Return what Placement counts on hosts of a HostBlock, beside what
        these report: text; '' if it is not known.

        Of the first ones that are asked about.
        """
        resource, amount = self._condition.resource, self._condition.amount
        hosts = hosts.snapshot.block(hosts.rows[:_MOST_READ])
        try:
            read = [self._read(uuid) for uuid in hosts.objects('uuid')]
        except exception.PlacementError:
            return ''
        if resource not in _FREE or not any(read):
            return ''
        found = [(each, free) for each, free in zip(
            read, _FREE[resource](hosts).tolist(), strict=True) if each]
        text = (f'Placement counts {sum(each.used for each, _ in found)} of '
                f'{sum(each.capacity for each, _ in found)} {resource} as '
                f'used on {len(found)} of these hosts, which report '
                f'{sum(free for _, free in found)} free')
        return text if not any(
            each.capacity - each.used < amount <= free
            for each, free in found) else (
                f'{text}: it may hold allocations of instances that are gone, '
                'see nova-manage placement audit')


def rules(adapter, queries):
    """Return the rules that Placement judges hosts by: list of PlacementRule.

    adapter: placement.adapter.PlacementAdapter, or what stands for it.
    queries: list of scheduler.utils.ResourceRequest.
    """
    reader = conditions.ConditionReader(adapter)
    return [PlacementRule(each, reader)
            for each in conditions.conditions(queries)]
