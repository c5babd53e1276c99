"""How many claims child providers grant, such as those of GPUs and ports.

An amount comes from any provider of a tree that has the required traits.  The
number is exact if each demand has its resource classes to itself.  ``split``
returns None for other requests, whose numbers depend on the order of claims:

* Several unlike groups share a resource class, or must be isolated.
* Groups have conditions on aggregates, trees or subtrees.
* Required traits may be on one of several child providers.
* A provider shares its inventory.
"""

import collections
import dataclasses

import numpy as np
import os_traits

from nova_sched.placement.mirror.providers import MOST_HELD
from nova_sched.placement.mirror.providers import has_traits


class Demand(collections.namedtuple(
        'Demand', 'resources required forbidden counts_root')):
    """Amounts of one child provider, which all have to come from it.

    resources: ((resource class, amount), ...).
    required, forbidden: frozensets of traits.
    counts_root: whether traits of the root provider count as well.
    """

    @property
    def name(self):
        return ', '.join(name for name, _ in self.resources)


class ProviderTrees:
    """The providers of a Placement by tree.

    providers: list of Provider, with all limits.
    """

    def __init__(self, providers):
        self._providers = {provider.uuid: provider for provider in providers}
        self._trees = collections.defaultdict(list)
        for provider in providers:
            self._trees[self._root(provider)].append(provider)
        #: Resource classes of child providers.
        self._nested = {name for provider in providers
                        if provider.parent is not None
                        for name in provider.amounts}
        shared = [provider for provider in providers if
                  os_traits.MISC_SHARES_VIA_AGGREGATE in provider.traits]
        self._is_shared = bool(shared)
        #: Resource classes of child providers and of shared providers.
        self.elsewhere = self._nested.union(
            *(provider.amounts for provider in shared))

    def _root(self, provider):
        # Each provider once, even if a broken Placement reports a circle.
        for _ in self._providers:
            if provider.parent not in self._providers:
                break
            provider = self._providers[provider.parent]
        return provider.uuid

    def emptied(self):
        """Return the same trees without allocations."""
        return ProviderTrees([dataclasses.replace(provider, amounts={
            name: amounts._replace(used=0)
            for name, amounts in provider.amounts.items()})
            for provider in self._providers.values()])

    def split(self, query):
        """Return a query for root providers, and the other demands.

        query: scheduler.utils.ResourceRequest.
        The second value maps Demand -> how often an instance has it.
        Returns None if the number of claims depends on their order.
        """
        group = query.groups['']
        nested = self._nested & group.resources.keys()
        numbered = [part for suffix, part in query.groups.items() if suffix]
        demands = collections.Counter(
            Demand(tuple(sorted(part.resources.items())),
                   frozenset(part.required), frozenset(part.forbidden), False)
            for part in numbered)
        demands.update(
            Demand(((name, group.resources[name]),),
                   frozenset(group.required), frozenset(group.forbidden), True)
            for name in nested)
        names = [name for demand in demands for name, _ in demand.resources]
        if (self._is_shared or query.same_subtree
                or (query.group_policy == 'isolate' and len(numbered) > 1)
                or (len(nested) > 1 and group.required)
                or len({*names}) < len(names)
                or {*names} & (group.resources.keys() - nested)
                or any(part.member_of or part.forbidden_aggregates
                       or part.in_tree or not part.resources
                       for part in numbered)):
            return None
        root = dataclasses.replace(
            group, required=set() if nested else group.required, resources={
                name: amount for name, amount in group.resources.items()
                if name not in nested})
        return dataclasses.replace(query, groups={'': root}), demands

    def count(self, demand, times, roots):
        """Return how often trees meet a demand: int64 (n,).

        times: how often an instance has it.  roots: uuids of n providers.
        """
        return np.array([min(sum(
            _times(provider, demand.resources)
            for provider in self._trees.get(root, ())
            if self._has_traits(provider, root, demand)) // times, MOST_HELD)
            for root in roots], np.int64)

    def _has_traits(self, provider, root, demand):
        traits = provider.traits
        if demand.counts_root:
            traits = traits | self._providers[root].traits
        return not (provider.traits & demand.forbidden) and has_traits(
            traits, demand.required)


def _times(provider, resources):
    """Return how many claims of the amounts a provider grants."""
    return min(_times_of(provider.amounts.get(name), amount)
               for name, amount in resources)


def _times_of(amounts, amount):
    if (amounts is None or not amounts.min_unit <= amount <= amounts.max_unit
            or amount % amounts.step_size):
        return 0
    return max(amounts.capacity - amounts.used, 0) // amount
