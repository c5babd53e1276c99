"""Reading the allocation candidates that Placement offers."""

import dataclasses

from nova_sched.placement.allocations import amounts


@dataclasses.dataclass
class Candidates:
    """The allocation candidates of one request, whose queries may be several.

    by_provider: provider uuid -> list of the allocation requests that mention
        it, in order.  providers: uuids of all providers that were named.
    requests, summaries: all that Placement wrote: a list of the allocation
        requests, and provider uuid -> dict.
    """

    by_provider: dict = dataclasses.field(default_factory=dict)
    providers: set = dataclasses.field(default_factory=set)
    requests: list = dataclasses.field(default_factory=list)
    summaries: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, document):
        """Read the answer to one query, a dict; ValueError if it is none."""
        try:
            requests = document['allocation_requests']
            named = [(request, _providers(request)) for request in requests]
            summaries = document['provider_summaries']
            found = cls(providers=set(summaries.keys()), requests=requests,
                        summaries=dict(summaries))
        except (KeyError, TypeError, AttributeError,
                ValueError) as exc:
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
            self.requests + other.requests, self.summaries | other.summaries)


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
