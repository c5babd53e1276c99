"""What Placement writes, as values: microversions, allocations, candidates.

Each class has a method ``of`` that reads a document of Placement's, and
raises ValueError if it is something else.
"""

import dataclasses
import functools

from keystoneauth1 import discover
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import FORMS

LOG = logging.getLogger(__name__)

#: The newest microversion of a claim. Callers claim the alternates of an
#: answer in that of the candidates, and from 1.38 on Placement wants a word
#: from them that Nova does not say.
CLAIMS = '1.36'

AGGREGATES = '1.19'         # lists of a provider's aggregates
GENERATIONS = '1.28'        # consumers have a generation
STEIN = '1.29'              # what Nova asked when it stopped adding up
MAPPINGS = '1.34'           # candidates say which group a provider serves

#: The largest amount that a consumer can hold of a class.
MOST_HELD = 2 ** 31 - 1
#: What any larger amount of a provider counts as: more than all consumers can
#: hold, in integers of 64 bits.
MOST = 2 ** 62
#: What is raised where a document is something else.
ODD = (ValueError, TypeError, KeyError, AttributeError)


class PlacementTooOld(exception.PlacementError):
    """A server has no microversion that can say what is asked."""


def at_least(version, least):
    """Return whether a microversion is another one or newer: both texts."""
    return discover.version_between(least, None, version)


@dataclasses.dataclass(frozen=True)
class MicroversionRange:
    """The microversions that a server supports: from least to most, texts."""

    least: str
    most: str

    @classmethod
    def of(cls, document):
        """Read what ``GET /`` answers; ValueError if it is not that."""
        try:
            (found, *_) = document['versions']
            for text in (found['min_version'], found['max_version']):
                discover.normalize_version_number(text)
            return cls(found['min_version'], found['max_version'])
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

        Not newer than what claims are made in, unless that is too old.
        Raises PlacementTooOld.
        """
        most = least if at_least(least, CLAIMS) else CLAIMS
        version = self.newest(least, most)
        if version is None:
            raise PlacementTooOld(
                f'Placement speaks microversions {self.least} to {self.most}, '
                f'but this request takes {least}: upgrade Placement, or ask '
                f'without what needs it')
        return version


@dataclasses.dataclass(frozen=True)
class ConsumerAllocations:
    """What a consumer holds.

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
        """Read Placement's answer; ValueError if it is something else."""
        try:
            return cls(amounts(document['allocations']),
                       *map(document.get, ('consumer_generation',
                                           'project_id', 'user_id')))
        except KeyError as exc:
            raise ValueError('it lists no allocations') from exc

    def merged(self, wanted, adding):
        """Return these allocations and wanted ones, in one dict of that form.

        An instance that moves holds its source and its destination. Where
        only providers are wanted that it holds already, what is there stays;
        adding: or both are added up, as releases up to Rocky do.
        """
        both = {provider: dict(resources)
                for provider, resources in self.allocations.items()}
        adding = adding and wanted.keys() <= both.keys()
        for provider, resources in wanted.items():
            if provider not in both:
                both[provider] = dict(resources)
            elif adding:
                for name, amount in resources.items():
                    both[provider][name] = (
                        both[provider].get(name, 0) + amount)
        return both


def amounts(allocations):
    """Return the amounts in a body: provider -> resource class -> amount.

    allocations: as Placement writes them.
    Raises ValueError where they are something else; an amount is an integer
    from 1 to MOST_HELD.
    """
    try:
        found = {provider: dict(wanted['resources'].items())
                 for provider, wanted in allocations.items()}
    except (KeyError, TypeError, AttributeError) as exc:
        raise ValueError('it lists no allocations') from exc
    for resources in found.values():
        for name, amount in resources.items():
            if type(amount) is not int or not 0 < amount <= MOST_HELD:
                raise ValueError(f'{amount!r} is no amount of {name}')
    return found


def number(value):
    """Return a value that is a number; ValueError for any other."""
    # No comparison with NaN is true.
    if type(value) not in (int, float) or not value <= value:
        raise ValueError(f'{value!r:.80} is no number')
    return value


def whole(value, least=-MOST):
    """Return a number cut to a whole one; what is beyond MOST counts as that.

    Raises ValueError for what is no number, or less than ``least``.
    """
    if number(value) < least > -MOST:
        raise ValueError(f'{value!r:.80} is less than {least}')
    return int(max(-MOST, min(value, MOST)))


def usable(parts, understand, name, needs_one=True):
    """Return what a function makes of each part of a document: list.

    A part that is something else is left out, with one line in the log: what
    Placement tells of one provider costs no other one.
    parts: iterable.  understand: raises one of ODD for something else.
    name: function of a part that returns which one it is, as text.
    needs_one: whether the last of these errors is raised where no part can be
        used.
    """
    found, errors = [], []
    for part in parts:
        try:
            found.append(understand(part))
        except ODD as exc:
            errors.append((part, exc))
    if errors and needs_one and not found:
        raise errors[-1][1]
    for part, error in errors:
        _warn_left_out(f'{name(part):.200}', problem(error))
    return found


def problem(error):
    """Return what is wrong with a document: one of ODD as text."""
    return (str(error) if isinstance(error, ValueError)
            else 'it tells something else')


@functools.lru_cache(maxsize=4096)
def _warn_left_out(name, problem):
    LOG.warning('%(name)s is left out, as Placement tells of it what cannot '
                'be: %(problem)s', {'name': name, 'problem': problem})


def body(amounts):
    """Return amounts as Placement wants them in a body."""
    return {provider: {'resources': resources}
            for provider, resources in amounts.items()}


@dataclasses.dataclass
class Candidates:
    """The allocation candidates of one request, whose queries may be several.

    by_provider: provider uuid -> list of the allocation requests that mention
        it, in order.  providers: uuids of all providers that were named.
    requests, summaries: all that Placement wrote: a list of the allocation
        requests, and provider uuid -> dict.
    longest: how many requests the longest answer to a query has.
    """

    by_provider: dict = dataclasses.field(default_factory=dict)
    providers: set = dataclasses.field(default_factory=set)
    requests: list = dataclasses.field(default_factory=list)
    summaries: dict = dataclasses.field(default_factory=dict)
    longest: int = 0

    @classmethod
    def of(cls, document):
        """Read the answer to one query, a dict; ValueError if it is none."""
        try:
            named = usable(
                document['allocation_requests'],
                lambda request: (request, _providers(request)),
                lambda request: f'The candidate {request!r}')
            summaries = document['provider_summaries']
            found = cls(providers=set(summaries.keys()),
                        requests=[request for request, _ in named],
                        summaries=dict(summaries),
                        longest=len(document['allocation_requests']))
        except ODD as exc:
            raise ValueError('it lists no allocation candidates') from exc
        for request, uuids in named:
            for uuid in uuids:
                found.by_provider.setdefault(uuid, []).append(request)
        return found

    def before(self, other):
        """Return these candidates with those of another query behind them.
        """
        by_provider = {uuid: list(requests) for uuid, requests
                       in self.by_provider.items()}
        for uuid, requests in other.by_provider.items():
            by_provider.setdefault(uuid, []).extend(requests)
        return Candidates(
            by_provider, self.providers | other.providers,
            self.requests + other.requests, self.summaries | other.summaries,
            max(self.longest, other.longest))


def _providers(request):
    """Return the uuids that an allocation request mentions: list.

    ValueError for what no claim can be made of.
    """
    found = list(amounts(request['allocations']))
    for group, uuids in request.get('mappings', {}).items():
        if not isinstance(uuids, list) or not all(
                isinstance(uuid, str) for uuid in uuids):
            raise ValueError(f'group {group} is not mapped to providers')
    return found
