"""How many claims of a request Placement grants on each host.

Placement's providers are read once; then the claims of any number of flavors
are counted without further queries.
"""

import copy
import dataclasses

import numpy as np

from nova_sched.capacity.provider_trees import ProviderTrees
from nova_sched.placement.mirror.providers import Amounts
from nova_sched.placement.mirror.providers import Providers
from nova_sched.placement.mirror.reader import ProviderReader
from nova_sched.scheduler.instance_counts import UNLIMITED
from nova_sched.scheduler.instance_counts import RuleCounts

#: Name of the rule with Placement's conditions other than amounts.
CONDITIONS = 'Placement'


class PlacementProviders:
    """The resource providers of a Placement, as read once.

    adapter: PlacementAdapter.
    progress: function of the number of read providers, and of all.

    Raises PlacementError if Placement does not answer.
    """

    def __init__(self, adapter, progress=lambda done, count: None):
        self._reader, self.providers = ProviderReader(adapter), Providers()
        generations = self._reader.generations()
        summaries = {provider.uuid: provider for provider
                     in self._reader.summaries(generations)}
        read = []
        for number, (uuid, (_, parent)) in enumerate(generations.items(), 1):
            read.append(self._read(uuid, parent, summaries.get(uuid)))
            progress(number, len(generations))
        read = [*filter(None, read)]
        self._trees = ProviderTrees(read)
        self.providers.put(read, self.providers.now())

    def emptied(self):
        """Return the same providers without allocations."""
        twin = copy.copy(self)
        twin.providers = self.providers.emptied()
        twin._trees = self._trees.emptied()
        return twin

    def _read(self, uuid, parent, summary):
        """Return a complete Provider; None if it was deleted.

        summary: the Provider of a listing, without limits; None for providers
            without room.
        """
        if summary is None:
            return self._reader.provider(uuid, parent)
        inventories = self._reader.inventories(uuid)
        return inventories and dataclasses.replace(
            summary, limited=True, amounts={
                name: amounts._replace(used=summary.amounts.get(
                    name, Amounts(0, 0)).used)
                for name, amounts in inventories.items()})

    def count(self, queries, nodes, inexact):
        """Return the RuleCounts of Placement for compute nodes: list.

        queries: list of scheduler.utils.ResourceRequest; any may be met.
        nodes: uuids of n compute nodes.
        inexact: dict; a reason is added if the numbers are a bound.
        Raises PlacementError.
        """
        self._read_members(queries)
        granted = [self._granted(query, nodes) for query in queries]
        if any(meets is None for _, meets in granted):
            inexact[CONDITIONS] = (
                'does not count providers whose claims depend on their order')
        return claims_of_any(granted, len(nodes))

    def _granted(self, query, nodes):
        """Return the numbers of claims of a query for compute nodes.

        Resource class -> int64 (n,); and 1 for nodes that meet the other
        conditions, 0 for others, or None if that is not known.
        """
        rows, times, meets = self.providers.grants(query)
        parts = self._trees.split(query) if meets is None else None
        demands = {}
        if parts is not None:
            query, often = parts
            rows, times, meets = self.providers.grants(query)
            demands = {demand.name: self._trees.count(demand, count, nodes)
                       for demand, count in often.items()}
        times = {name: _of_nodes(counts, rows, nodes)
                 for name, counts in times.items()} | demands
        if meets is not None:
            return times, _of_nodes(meets.astype(np.int64), rows, nodes)
        # Any number of claims may be granted by other providers.
        return {name: np.full(len(nodes), UNLIMITED)
                if name in self._trees.elsewhere else counts
                for name, counts in times.items()}, None

    def free(self, name, nodes):
        """Return the free amounts of a resource class on compute nodes.

        int64 (n,), without child providers.
        """
        rows, free = self.providers.free(name)
        return _of_nodes(free, rows, nodes)

    def _read_members(self, queries):
        for aggregate in set().union(*map(
                self.providers.without_members, queries)):
            self.providers.put_members(
                aggregate, self._reader.members(aggregate))


def claims_of_any(granted, nodes):
    """Return the RuleCounts of claims that meet any of several queries.

    granted: results of ``_granted``, whose amounts of a class are equal.
    nodes: their number.
    A node grants claims of one query after those of another, as long as the
    classes of both remain.
    """
    shared = set.intersection(*(set(times) for times, _ in granted))
    fixed = [np.full(nodes, UNLIMITED) if meets is None else UNLIMITED * meets
             for _, meets in granted]
    own = sum(np.minimum.reduce([most, *(
        counts for name, counts in times.items() if name not in shared)])
        for (times, _), most in zip(granted, fixed, strict=True))
    by_rule = [RuleCounts(f'{CONDITIONS} {name}', counts if name in shared
                          else np.minimum(own, UNLIMITED))
               for name, counts in granted[0][0].items()]
    if any(meets is None for _, meets in granted):
        return by_rule
    return [*by_rule, RuleCounts(CONDITIONS, np.maximum.reduce(fixed))]


def _of_nodes(values, rows, nodes):
    """Return the values of compute nodes, int64 (n,); 0 without a provider.

    rows: uuid -> position of its value.
    """
    places = np.array([rows.get(uuid, -1) for uuid in nodes], np.intp)
    if not len(values):
        return np.zeros(len(places), np.int64)
    return np.where(places >= 0, values.take(places, mode='clip'), 0)
