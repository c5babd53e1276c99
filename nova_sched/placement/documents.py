"""Placement's documents as values: microversions, allocations, candidates.

Each class has a method ``of`` that reads a document and raises ValueError if
the document is invalid.
"""

import collections
import dataclasses
import functools

from keystoneauth1 import discover
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import FORMS

LOG = logging.getLogger(__name__)

#: The newest microversion of a claim.  Callers claim alternates in the
#: microversion of the candidates, and from 1.38 on Placement requires a
#: consumer type, which Nova does not send.
CLAIMS = '1.36'

AGGREGATES = '1.19'         # lists of a provider's aggregates
GENERATIONS = '1.28'        # consumers have a generation
STEIN = '1.29'              # of Nova Stein, the first not to add amounts up
MAPPINGS = '1.34'           # candidates map request groups to providers

#: The largest amount of a resource class that a consumer can hold.
MOST_HELD = 2 ** 31 - 1
#: Upper limit of a provider's amounts: more than all consumers can hold,
#: and within 64 bits.
MOST = 2 ** 62
#: Exceptions that an invalid document causes.
INVALID_DOCUMENT = (ValueError, TypeError, KeyError, AttributeError)


class PlacementTooOld(exception.PlacementError):
    """The server has no microversion that supports the request."""


def at_least(version, least):
    """Return whether a microversion is at least another one: both texts."""
    return discover.version_between(least, None, version)


@dataclasses.dataclass(frozen=True)
class MicroversionRange:
    """The microversions that a server supports: least and most, texts."""

    least: str
    most: str

    @classmethod
    def of(cls, document):
        """Read the response to ``GET /``; ValueError if it is invalid."""
        try:
            (versions, *_) = document['versions']
            for text in (versions['min_version'], versions['max_version']):
                discover.normalize_version_number(text)
            return cls(versions['min_version'], versions['max_version'])
        except (KeyError, TypeError, ValueError) as exc:
            raise ValueError('it lists no microversions') from exc

    def newest(self, least=FORMS[0], most=FORMS[-1]):
        """Return the newest supported of FORMS within bounds, or None."""
        return next((
            form for form in reversed(FORMS)
            if discover.version_between(least, most, form)
            and discover.version_between(self.least, self.most, form)), None)

    def for_query(self, least):
        """Return the microversion for a query that needs one at least.

        Not newer than that of claims, unless that is too old.
        Raises PlacementTooOld.
        """
        most = least if at_least(least, CLAIMS) else CLAIMS
        version = self.newest(least, most)
        if version is None:
            raise PlacementTooOld(
                f'Placement speaks microversions {self.least} to {self.most}, '
                f'but this request takes {least}: upgrade Placement, or '
                f'change the request')
        return version


@dataclasses.dataclass(frozen=True)
class ConsumerAllocations:
    """The allocations of a consumer.

    allocations: provider uuid -> resource class -> amount.  generation: of
    the consumer, None for a new one and below microversion 1.28.  project_id,
    user_id: of the consumer, None without one.
    """

    allocations: dict
    generation: int | None = None
    project_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, document):
        """Read Placement's response; ValueError if it is invalid."""
        try:
            return cls(amounts(document['allocations']),
                       *map(document.get, ('consumer_generation',
                                           'project_id', 'user_id')))
        except KeyError as exc:
            raise ValueError('it lists no allocations') from exc

    def merged(self, further, adding):
        """Return these allocations and further ones as one dict.

        An instance that moves holds allocations of source and destination.
        Allocations of a provider that it holds already stay as they are.
        adding: whether they are added up instead, as up to Rocky, if it holds
            allocations of all further providers.
        """
        if not adding or further.keys() - self.allocations.keys():
            return further | self.allocations
        return {provider: dict(collections.Counter(resources)
                               + collections.Counter(further.get(provider)))
                for provider, resources in self.allocations.items()}


def amounts(allocations):
    """Return the amounts in a body: provider -> resource class -> amount.

    allocations: in Placement's format.
    Raises ValueError if they are invalid; an amount is an integer from 1 to
    MOST_HELD.
    """
    try:
        by_provider = {provider: dict(allocation['resources'].items())
                       for provider, allocation in allocations.items()}
    except (KeyError, TypeError, AttributeError) as exc:
        raise ValueError('it lists no allocations') from exc
    for resources in by_provider.values():
        for name, amount in resources.items():
            if type(amount) is not int or not 0 < amount <= MOST_HELD:
                raise ValueError(f'{amount!r} is no amount of {name}')
    return by_provider


def number(value):
    """Return a value that is a number; ValueError for any other."""
    # Comparisons with NaN are never true.
    if type(value) not in (int, float) or not value <= value:
        raise ValueError(f'{value!r:.80} is no number')
    return value


def whole(value, least=-MOST):
    """Return a number truncated to an integer from -MOST to MOST.

    Raises ValueError for a value that is no number, or less than ``least``.
    """
    if number(value) < least > -MOST:
        raise ValueError(f'{value!r:.80} is less than {least}')
    return int(max(-MOST, min(value, MOST)))


def usable(parts, understand, name, needs_one=True):
    """Return the results of a function for the valid parts of a document.

    Invalid parts are left out and logged once, so that one invalid provider
    does not affect the others.
    parts: iterable.
    understand: function of a part; raises one of INVALID_DOCUMENT if the part
        is invalid.
    name: function of a part that returns its name for the log.
    needs_one: whether to raise the last error if no part is valid.
    """
    results, errors = [], []
    for part in parts:
        try:
            results.append(understand(part))
        except INVALID_DOCUMENT as exc:
            errors.append((part, exc))
    if errors and needs_one and not results:
        raise errors[-1][1]
    for part, error in errors:
        _warn_left_out(f'{name(part):.200}', problem(error))
    return results


def problem(error):
    """Return the text of an error, one of INVALID_DOCUMENT."""
    return (str(error) if isinstance(error, ValueError)
            else 'its content is not as expected')


@functools.lru_cache(maxsize=4096)
def _warn_left_out(name, problem):
    LOG.warning("%(name)s is left out because Placement's data about it is "
                'invalid: %(problem)s', {'name': name, 'problem': problem})


def body(amounts):
    """Return amounts in the format of a request body."""
    return {provider: {'resources': resources}
            for provider, resources in amounts.items()}


@dataclasses.dataclass
class Candidates:
    """The allocation candidates of one request, maybe of several queries.

    by_provider: provider uuid -> list of the allocation requests that name
        it, in order.  providers: uuids of all named providers.
    requests, summaries: Placement's complete response: list of allocation
        requests, and provider uuid -> dict.
    longest: number of allocation requests in the longest response.
    """

    by_provider: dict = dataclasses.field(default_factory=dict)
    providers: set = dataclasses.field(default_factory=set)
    requests: list = dataclasses.field(default_factory=list)
    summaries: dict = dataclasses.field(default_factory=dict)
    longest: int = 0

    @classmethod
    def of(cls, document):
        """Read the response to one query; ValueError if it is invalid."""
        try:
            named = usable(
                document['allocation_requests'],
                lambda request: (request, _providers(request)),
                lambda request: f'The candidate {request!r}')
            summaries = document['provider_summaries']
            candidates = cls(
                providers=set(summaries.keys()),
                requests=[request for request, _ in named],
                summaries=dict(summaries),
                longest=len(document['allocation_requests']))
        except INVALID_DOCUMENT as exc:
            raise ValueError('it lists no allocation candidates') from exc
        for request, uuids in named:
            for uuid in uuids:
                candidates.by_provider.setdefault(uuid, []).append(request)
        return candidates

    def before(self, other):
        """Return these candidates followed by those of another query."""
        return Candidates(
            {uuid: [*self.by_provider.get(uuid, ()),
                    *other.by_provider.get(uuid, ())]
             for uuid in self.by_provider | other.by_provider},
            self.providers | other.providers,
            self.requests + other.requests, self.summaries | other.summaries,
            max(self.longest, other.longest))


def _providers(request):
    """Return the uuids that an allocation request names: list.

    ValueError for an invalid allocation request.
    """
    uuids = list(amounts(request['allocations']))
    for group, members in request.get('mappings', {}).items():
        if not isinstance(members, list) or not all(
                isinstance(uuid, str) for uuid in members):
            raise ValueError(f'group {group} is not mapped to providers')
    return uuids
