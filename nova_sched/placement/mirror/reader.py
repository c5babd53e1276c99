"""The queries to Placement that fill a mirror.

Microversions: see the reference of Placement's API.
"""

import contextlib
import sys

from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.placement.documents import INVALID_DOCUMENT
from nova_sched.placement.documents import MOST
from nova_sched.placement.documents import number
from nova_sched.placement.documents import problem
from nova_sched.placement.documents import usable
from nova_sched.placement.documents import whole
from nova_sched.placement.mirror.providers import Amounts
from nova_sched.placement.mirror.providers import Provider

#: Lowest microversion whose summaries have all providers of a tree and all
#: resource classes.
VERSION = '1.29'

#: A query for which any host with room is a candidate.
_SMALLEST = '/allocation_candidates?resources=VCPU:1'


class UnusableProvider(exception.PlacementError):
    """Placement's data about one provider is invalid."""


class ProviderReader:
    """Reads resource providers from Placement.

    adapter: PlacementAdapter.

    All methods raise PlacementError if the query fails.  Invalid items of a
    list are left out.
    """

    def __init__(self, adapter):
        self._adapter = adapter

    @property
    def config_fingerprint(self):
        """See PlacementAdapter."""
        return self._adapter.config_fingerprint

    def generations(self):
        """Return the generation and the parent of all providers.

        Returns uuid -> (generation, parent uuid or None).
        """
        return self._read('/resource_providers', lambda document: {
            uuid: (generation, parent) for uuid, generation, parent in usable(
                document['resource_providers'], _listed, _named)})

    def summaries(self, generations):
        """Return the providers with room, and all of their trees: list.

        generations: result of an earlier call of ``generations``.  A provider
            that changes in between differs at the next comparison.
        Aggregates and unit sizes are not read.
        """
        def read(document):
            return usable(
                ((uuid, summary) for uuid, summary
                 in document['provider_summaries'].items()
                 if uuid in generations),
                lambda part: _summarized(*part, *generations[part[0]]),
                lambda part: f'Resource provider {part[0]}',
                # The providers that are not listed may have no room.
                needs_one=False)
        return self._read(_SMALLEST, read)

    def provider(self, uuid, parent, timeout=None):
        """Return a complete Provider, or None if it was deleted.

        timeout: seconds for each of its parts, by default the usual timeout.

        The provider may change between the requests, so it gets the oldest
        generation returned.
        May also raise UnusableProvider.
        """
        documents = {}
        for name in _PARTS:
            documents[name] = self._of(uuid, name, timeout)
            if documents[name] is None:
                return None
        with _usable(uuid):
            inventories, used, traits, aggregates = (
                understand(documents[name][name])
                for name, understand in _PARTS.items())
            return Provider(
                uuid, min(_generation(document['resource_provider_generation'])
                          for document in documents.values()), parent,
                {name: amounts._replace(used=used.get(name, 0))
                 for name, amounts in inventories.items()},
                traits, aggregates)

    def inventories(self, uuid):
        """Return a provider's amounts without usage: class -> Amounts.

        None if it was deleted.
        May also raise UnusableProvider.
        """
        document = self._of(uuid, 'inventories')
        with _usable(uuid):
            return document and _inventories(document['inventories'])

    def used(self, uuid):
        """Return the usage of a provider: class -> amount; None if deleted.

        May also raise UnusableProvider.
        """
        document = self._of(uuid, 'usages')
        with _usable(uuid):
            return document and _used(document['usages'])

    def members(self, aggregate):
        """Return the uuids of the providers in an aggregate: list."""
        return self._read(
            f'/resource_providers?member_of={aggregate}',
            lambda document: usable(
                document['resource_providers'], _uuid, _named))

    def _of(self, uuid, name, timeout=None):
        """Return a part of a provider as document; None if it was deleted."""
        return self._read(f'/resource_providers/{uuid}/{name}', dict,
                          missing=404, timeout=timeout)

    def _read(self, path, understand, missing=None, timeout=None):
        """Return the result of a function of the document at a path.

        missing: status for which None is returned.
        """
        response = self._adapter.request('GET', path, VERSION,
                                         timeout=timeout)
        if response.status == missing:
            return None
        return response.read(understand, f'Placement does not return {path}.')


@contextlib.contextmanager
def _usable(uuid):
    """Convert INVALID_DOCUMENT to UnusableProvider."""
    try:
        yield
    except INVALID_DOCUMENT as exc:
        raise UnusableProvider(
            f'The data about resource provider {uuid} is invalid: '
            f'{problem(exc)}') from exc


def _named(provider):
    """Return the name of an item of a list of providers for the log."""
    uuid = provider.get('uuid') if isinstance(provider, dict) else provider
    return f'Resource provider {uuid!r}'


def _listed(provider):
    """Return uuid, generation and parent of an item of a list."""
    return (_uuid(provider), _generation(provider['generation']),
            provider['parent_provider_uuid'])


def _uuid(provider):
    if not uuidutils.is_uuid_like(provider['uuid']):
        raise ValueError(f'{provider["uuid"]!r:.80} is no uuid')
    return provider['uuid']


def _generation(value):
    """Return a generation that fits a column with room to count."""
    if type(value) is not int or abs(value) > MOST:
        raise ValueError(f'{value!r:.80} is no generation')
    return value


def _summarized(uuid, summary, generation, parent):
    return Provider(
        uuid, generation, parent,
        {name: Amounts(whole(resource['capacity']), whole(resource['used'], 0))
         for name, resource in summary['resources'].items()},
        _texts(summary['traits']), limited=False)


def _inventories(inventories):
    """Return resource class -> Amounts, without usage."""
    return {name: Amounts(
        whole((whole(resource['total']) - whole(resource['reserved']))
              * number(resource['allocation_ratio'])), 0,
        whole(resource['min_unit']), whole(resource['max_unit']),
        whole(resource['step_size'], 1))
        for name, resource in inventories.items()}


def _used(usages):
    return {name: whole(amount, 0) for name, amount in usages.items()}


def _texts(items):
    # Interned, as thousands of providers have the same texts.
    return frozenset(map(sys.intern, items))


#: Part of a provider -> function that reads it.
_PARTS = {'inventories': _inventories, 'usages': _used,
          'traits': _texts, 'aggregates': _texts}
