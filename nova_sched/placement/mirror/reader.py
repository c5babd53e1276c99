"""The questions to Placement that a mirror is made from.

Which microversion tells what: the specification of Placement's API.
"""

import sys

from nova_sched.placement.mirror.providers import Amounts
from nova_sched.placement.mirror.providers import Provider

#: The least microversion of which summaries tell trees, and all classes.
VERSION = '1.29'

#: A candidate that every host with any room has.
_SMALLEST = '/allocation_candidates?resources=VCPU:1'


class ProviderReader:
    """Reads resource providers from Placement.

    adapter: PlacementAdapter.

    All methods raise PlacementError, of what cannot be read.
    """

    def __init__(self, adapter):
        self._adapter = adapter

    @property
    def identity(self):
        """As of PlacementAdapter."""
        return self._adapter.identity

    def generations(self):
        """Return the generation and the parent of all providers.

        Returns uuid -> (generation, parent uuid or None).
        """
        return self._read('/resource_providers', lambda document: {
            found['uuid']: (found['generation'], found['parent_provider_uuid'])
            for found in document['resource_providers']})

    def summaries(self, generations):
        """Return providers that have room, and those of their trees: list.

        generations: as returned by ``generations``, of before: what changes
            meanwhile has another one by the next time.
        Their aggregates and units are not read.
        """
        def read(document):
            return [_summarized(uuid, summary, *generations[uuid])
                    for uuid, summary in document['provider_summaries'].items()
                    if uuid in generations]
        return self._read(_SMALLEST, read)

    def provider(self, uuid, parent):
        """Return all of one Provider, or None if it is gone.

        It may change while it is read: its generation is the oldest that was
        told.
        """
        generations, parts = [], []
        for name, understand in _PARTS.items():
            def read(document, name=name, understand=understand):
                generations.append(
                    int(document['resource_provider_generation']))
                return understand(document[name])
            found = self._of(uuid, name, read)
            if found is None:
                return None
            parts.append(found)
        inventories, used, traits, aggregates = parts
        return Provider(
            uuid, min(generations), parent,
            {name: amounts._replace(used=used.get(name, 0))
             for name, amounts in inventories.items()},
            traits, aggregates)

    def used(self, uuid):
        """Return what is used of a provider: class -> amount; None if gone."""
        return self._of(uuid, 'usages',
                        lambda document: _used(document['usages']))

    def members(self, aggregate):
        """Return the uuids of the providers in an aggregate: list."""
        return self._read(
            f'/resource_providers?member_of={aggregate}',
            lambda document: [found['uuid'] for found
                              in document['resource_providers']])

    def _of(self, uuid, name, understand):
        """Return one part of a provider; None if it is gone."""
        return self._read(f'/resource_providers/{uuid}/{name}', understand,
                          missing=404)

    def _read(self, path, understand, missing=None):
        """Return what ``understand`` makes of the document at a path.

        missing: status for which None is returned.
        """
        response = self._adapter.request('GET', path, VERSION)
        if response.status == missing:
            return None
        return response.read(understand, f'Placement does not tell {path}.')


def _summarized(uuid, summary, generation, parent):
    return Provider(
        uuid, generation, parent,
        {name: Amounts(int(found['capacity']), int(found['used']))
         for name, found in summary['resources'].items()},
        # Thousands of providers have the same.
        frozenset(map(sys.intern, summary['traits'])), limited=False)


def _inventories(inventories):
    """Return resource class -> Amounts of which nothing is used."""
    return {name: Amounts(
        int((found['total'] - found['reserved'])
            * found['allocation_ratio']), 0,
        *(int(found[unit]) for unit in ('min_unit', 'max_unit', 'step_size')))
        for name, found in inventories.items()}


def _used(usages):
    return {name: int(amount) for name, amount in usages.items()}


#: What is told of one provider -> how it is understood.
_PARTS = {'inventories': _inventories, 'usages': _used,
          'traits': frozenset, 'aggregates': frozenset}
