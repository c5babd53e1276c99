"""The single conditions of a query for resource providers.

Placement returns which providers are candidates, not why others are not.  Here
it is queried for each condition alone.  A host fails a condition if no
provider of its tree meets it, or its root does not where it must.  Parameters
and microversions: see Placement's API reference.
"""

import dataclasses
import urllib.parse

import os_traits

from nova_sched.placement.mirror.reader import ProviderReader

#: Microversion of the listings; microversion for ``in:`` of traits.
_VERSION, _ANY_OF_TRAITS = '1.32', '1.39'

#: Status if Placement does not know a resource class or trait.
_UNKNOWN = 400


@dataclasses.dataclass(frozen=True)
class Condition:
    """One condition of a query on the providers of a tree.

    code: of rules.codes.  name: of the trait, aggregate or resource, in words.
    parameter, value: of the listing of providers that meet it.
    is_of_root: whether the root itself must meet it.
    is_forbidden: whether providers must not meet it.
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
        """Why a host fails the condition, in a few words."""
        if self.resource:
            return f'it cannot provide {self.amount} {self.resource}'
        return f'it has {self.name}' if self.is_forbidden else (
            f'it lacks {self.name}')


def conditions(queries):
    """Return the conditions that all of some queries have: list of Condition.

    queries: list of scheduler.utils.ResourceRequest; any may be met.
    """
    first, *others = [dict.fromkeys(_of(query)) for query in queries]
    return [condition for condition in first
            if all(condition in other for other in others)]


def _of(query):
    yield from _traits(query.root_required, query.root_forbidden, True)
    for suffix, group in query.groups.items():
        for resource, amount in sorted(group.resources.items()):
            yield Condition(
                'placement_resource', resource, 'resources',
                f'{resource}:{amount}', resource=resource, amount=amount)
        # A forbidden trait of a numbered group concerns one provider, which
        # is not known here.
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
    """Queries Placement for conditions; after a failure it queries no more.

    adapter: PlacementAdapter, or its replacement in a dry run.
    """

    def __init__(self, adapter):
        self._adapter, self._providers = adapter, ProviderReader(adapter)
        self._failure, self._sharing = None, None

    def failing(self, condition, uuids):
        """Return for each compute node whether it fails a condition: bools.

        uuids: of the nodes, which are roots of trees.
        No node fails a condition that a sharing provider meets: the nodes that
        it serves are not known.
        Raises PlacementError.
        """
        if self._failure is None:
            try:
                return self._failing(condition, uuids)
            except Exception as error:
                self._failure = error
        raise self._failure

    def _failing(self, condition, uuids):
        roots = self._listed(condition.parameter, condition.value)
        providers = roots.keys()
        if providers and not condition.is_of_root and (
                providers & self._sharing_providers()):
            return [False] * len(uuids)
        meeting = providers if condition.is_of_root else {*roots.values()}
        return [(uuid in meeting) is condition.is_forbidden for uuid in uuids]

    def _sharing_providers(self):
        """Return the uuids of providers that are shared by hosts: set-like."""
        if self._sharing is None:
            self._sharing = self._listed(
                'required', os_traits.MISC_SHARES_VIA_AGGREGATE).keys()
        return self._sharing

    def amounts(self, condition, uuid):
        """Return the mirror.providers.Amounts of a provider, or None.

        They are of the condition's resource.  Raises PlacementError.
        """
        provider = self._providers.provider(uuid, None)
        return provider and provider.amounts.get(condition.resource)

    def _listed(self, parameter, value):
        """Return the providers that meet a condition: uuid -> root's uuid."""
        version = (_ANY_OF_TRAITS if parameter == 'required'
                   and value.startswith('in:') else _VERSION)
        query = urllib.parse.urlencode({parameter: value})
        response = self._adapter.request(
            'GET', f'/resource_providers?{query}', version)
        if response.status == _UNKNOWN:
            return {}
        return response.read(lambda document: {
            provider['uuid']: provider['root_provider_uuid']
            for provider in document['resource_providers']},
            f'Placement does not list the providers that have {value}.')
