"""Why Placement does not offer a host: the conditions of its queries.

Each condition is a rule of a matrix, judged by Placement.
"""

import numpy as np

from nova_sched import exception
from nova_sched.placement import conditions
from nova_sched.rules import figures

#: Most providers whose amounts are read; each takes queries of its own.
_MOST_READ = 20

#: Resource class -> the free amounts that hosts of a HostBlock report, as in
#: "host list".
_FREE = {
    'VCPU': lambda hosts: hosts.vcpus_total - hosts.vcpus_used,
    'MEMORY_MB': lambda hosts: hosts.free_ram_mb,
    'DISK_GB': lambda hosts: hosts.free_disk_mb // 1024}


def cut(limit):
    """Return the warning that Placement listed as many candidates as its limit
    allows: text.
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
        """Return which hosts of a HostBlock fail the condition: bool (n,).

        Raises PlacementError.
        """
        return np.array(self._reader.failing(
            self._condition, hosts.objects('uuid')), np.bool_)

    def codes(self, hosts, spec_obj):
        """See BaseFilter."""
        return {self.code: len(hosts)}

    def why_not(self, host_state, spec_obj):
        """See BaseHostFilter."""
        return self._condition.words

    def figures(self, hosts, spec_obj):
        """See BaseFilter; for one host, and empty after _MOST_READ hosts."""
        condition, [uuid] = self._condition, hosts.objects('uuid')
        amounts = self._read(uuid)
        return [] if amounts is None else [figures.Figure(
            condition.resource, condition.resource, condition.amount,
            np.array([amounts.capacity - amounts.used], np.float64))]

    def _read(self, uuid):
        """Return the amounts of the resource that a provider has: Amounts.

        None if they are unknown.
        """
        condition, known = self._condition, self._amounts
        if condition.resource and uuid not in known and (
                len(known) < _MOST_READ):
            known[uuid] = self._reader.amounts(condition, uuid)
        return known.get(uuid)

    def counted(self, hosts):
        """Return what Placement counts as used on hosts, compared with the
        amounts that they report: text; '' if unknown.

        hosts: HostBlock, of which the first _MOST_READ are read.
        """
        resource, amount = self._condition.resource, self._condition.amount
        hosts = hosts.snapshot.block(hosts.rows[:_MOST_READ])
        try:
            read = [self._read(uuid) for uuid in hosts.objects('uuid')]
        except exception.PlacementError:
            return ''
        if resource not in _FREE or not any(read):
            return ''
        known = [(amounts, free) for amounts, free in zip(
            read, _FREE[resource](hosts).tolist(), strict=True) if amounts]
        text = (f'Placement counts {sum(amounts.used for amounts, _ in known)}'
                f' of {sum(amounts.capacity for amounts, _ in known)} '
                f'{resource} as used on {len(known)} of these hosts, which '
                f'report {sum(free for _, free in known)} free')
        return text if not any(
            amounts.capacity - amounts.used < amount <= free
            for amounts, free in known) else (
                f'{text}: it may hold allocations of instances that are gone, '
                'see nova-manage placement audit')


def rules(adapter, queries):
    """Return the rules that Placement judges hosts by: list of PlacementRule.

    adapter: placement.adapter.PlacementAdapter, or a replacement.
    queries: list of scheduler.utils.ResourceRequest.
    """
    reader = conditions.ConditionReader(adapter)
    return [PlacementRule(condition, reader)
            for condition in conditions.conditions(queries)]
