"""What a query asks of resource providers, one thing at a time.

Placement says which providers have candidates, not why the others have none.
It is asked of each condition alone here; a host fails one if no provider of
its tree meets it, or the root does not where the root must.  Parameters and
microversions: Placement's API reference.
"""

import dataclasses
import urllib.parse

import os_traits

from nova_sched.placement.mirror.reader import ProviderReader

#: The microversion of which listings know all parameters but ``in:`` of
#: traits, and the one that knows that.
_VERSION, _ANY_OF_TRAITS = '1.32', '1.39'

#: Answers to a resource class, or a trait, that Placement does not know.
_UNKNOWN = 400


@dataclasses.dataclass(frozen=True)
class Condition:
    """One thing that a query asks of the providers of a tree.

    code: of rules.codes.  name: of what is asked for, in words.
    parameter, value: of a listing of the providers that have it.
    is_of_root: whether the root alone must have it.
    is_forbidden: whether it must not be there.
    resource, amount: of a condition on an amount.
    """

    code: str
    name: str
    parameter: str
    value: str
    is_of_root: bool = False
    is_forbidden: bool = False
    resource: str | None = None
    amount: int = 0

    @property
    def words(self):
        """Why a host is out by it, in a few words."""
        if self.resource:
            return f'{self.amount} {self.resource} cannot be had of it'
        return f'it has {self.name}' if self.is_forbidden else (
            f'it lacks {self.name}')


def conditions(queries):
    """Return what all of some queries ask for: list of Condition.

    queries: list of scheduler.utils.ResourceRequest, of which any may
        be met.
    """
    first, *others = [dict.fromkeys(_of(query)) for query in queries]
    return [each for each in first if all(each in other for other in others)]


def _of(query):
    yield from _traits(query.root_required, query.root_forbidden, True)
    for suffix, group in query.groups.items():
        for resource, amount in sorted(group.resources.items()):
            yield Condition(
                'placement_resource', resource, 'resources',
                f'{resource}:{amount}', resource=resource, amount=amount)
        # What a numbered group excludes is of one provider, and which that
        # would be is not known.
        yield from _traits(group.required, () if suffix else group.forbidden,
                           False)
        for aggregates in () if suffix else group.member_of:
            yield _aggregates(aggregates)
        if group.forbidden_aggregates and not suffix:
            yield _aggregates(group.forbidden_aggregates, True)


def _traits(required, forbidden, is_of_root):
    for trait in sorted(required):
        yield Condition('placement_trait', f'trait {trait}', 'required',
                        trait, is_of_root)
    for trait in sorted(forbidden):
        yield Condition('placement_trait', f'trait {trait}', 'required',
                        trait, is_of_root=True, is_forbidden=True)


def _aggregates(uuids, is_forbidden=False):
    joined = ','.join(sorted(uuids))
    return Condition(
        'placement_aggregate', f'aggregate {" or ".join(sorted(uuids))}',
        'member_of', f'in:{joined}', is_of_root=True,
        is_forbidden=is_forbidden)


class ConditionReader:
    """Asks Placement who meets a condition; it is asked no more once it fails.

    adapter: PlacementAdapter, or what stands for it in a dry run.
    """

    def __init__(self, adapter):
        self._adapter, self._providers = adapter, ProviderReader(adapter)
        self._failure, self._sharing = None, None

    def failing(self, condition, uuids):
        """Return which of some compute nodes fail a condition: list of bools.

        uuids: of the nodes, which are roots of trees.
        None fails where a provider that others share meets it: it cannot be
        told whose it is.
        Raises PlacementError.
        """
        if self._failure is not None:
            raise self._failure
        try:
            return self._failing(condition, uuids)
        except Exception as error:
            self._failure = error
            raise

    def _failing(self, condition, uuids):
        having, roots = set(), set()
        for provider in self._listed(condition.parameter, condition.value):
            having.add(provider['uuid'])
            roots.add(provider['root_provider_uuid'])
        if having and not condition.is_of_root and having & self._shared():
            return [False] * len(uuids)
        met = having if condition.is_of_root else roots
        return [(uuid in met) is condition.is_forbidden for uuid in uuids]

    def _shared(self):
        """Return the uuids of providers that others share: set."""
        if self._sharing is None:
            self._sharing = {provider['uuid'] for provider in self._listed(
                'required', os_traits.MISC_SHARES_VIA_AGGREGATE)}
        return self._sharing

    def amounts(self, condition, uuid):
        """Return what a provider has of its resource, an Amounts of
        mirror.providers, or None.

        Raises PlacementError.
        """
        provider = self._providers.provider(uuid, None)
        return provider and provider.amounts.get(condition.resource)

    def _listed(self, parameter, value):
        version = (_ANY_OF_TRAITS if parameter == 'required'
                   and value.startswith('in:') else _VERSION)
        query = urllib.parse.urlencode({parameter: value})
        response = self._adapter.request(
            'GET', f'/resource_providers?{query}', version)
        if response.status == _UNKNOWN:
            return []
        return response.read(lambda document: [
            {name: found[name] for name in ('uuid', 'root_provider_uuid')}
            for found in document['resource_providers']],
            f'Placement does not tell who has {value}.')
