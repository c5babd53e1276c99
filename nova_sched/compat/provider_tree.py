"""As ``nova.compute.provider_tree``: the resource providers of a host."""

import typing


class ProviderData(typing.NamedTuple):
    """A resource provider, as Placement describes it.

    inventory: resource class -> dict with ``total`` and others.
    traits, aggregates: sets of text.  resources: always empty.
    """

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    inventory: dict
    traits: set
    aggregates: set
    resources: dict


class ProviderTree:
    """Providers by uuid or name, each after its parent.

    Methods raise ValueError for an unknown provider.
    """

    def __init__(self, cns=None):
        self._providers = {}

    def add(self, data):
        """Add a ProviderData."""
        self._providers[data.uuid] = data

    def exists(self, name_or_uuid):
        """Return whether there is such a provider."""
        return self._find(name_or_uuid) is not None

    def data(self, name_or_uuid):
        """Return the ProviderData of a provider."""
        found = self._find(name_or_uuid)
        if found is None:
            raise ValueError(f'No such provider {name_or_uuid}')
        return found

    def get_provider_uuids(self, name_or_uuid=None):
        """Return uuids of a provider and those below it, or of all: list."""
        if name_or_uuid is None:
            roots = [data for data in self._providers.values()
                     if data.parent_uuid not in self._providers]
        else:
            roots = [self.data(name_or_uuid)]
        return [uuid for root in roots for uuid in self._below(root.uuid)]

    def has_inventory(self, name_or_uuid):
        """Return whether a provider has any inventory."""
        return bool(self.data(name_or_uuid).inventory)

    def has_traits(self, name_or_uuid, traits):
        """Return whether a provider has all of these traits."""
        return self.data(name_or_uuid).traits >= set(traits)

    def in_aggregates(self, name_or_uuid, aggregates):
        """Return whether a provider is in all of these aggregates, uuids."""
        return self.data(name_or_uuid).aggregates >= set(aggregates)

    def _below(self, uuid):
        yield uuid
        for data in self._providers.values():
            if data.parent_uuid == uuid:
                yield from self._below(data.uuid)

    def _find(self, name_or_uuid):
        return self._providers.get(name_or_uuid) or next(
            (data for data in self._providers.values()
             if data.name == name_or_uuid), None)
