"""Reading the allocation candidates that Placement offers."""

import dataclasses

from nova_sched.placement.allocations import amounts


@dataclasses.dataclass
class Candidates:
    """The allocation candidates of one request, whose queries may be several.

    by_provider: provider uuid -> list of the allocation requests that mention
        it, in order.  providers: uuids of all providers that were named.
    requests, summaries: all that Placement wrote: a list of the allocation
        requests, and provider uuid -> dict; None where they are not kept.
    """

    by_provider: dict = dataclasses.field(default_factory=dict)
    providers: set = dataclasses.field(default_factory=set)
    requests: list | None = None
    summaries: dict | None = None

    @classmethod
    def with_summaries(cls):
        """Return empty ones that keep requests and summaries."""
        return cls(requests=[], summaries={})

    def add(self, document):
        """Add the answer to one query, a dict; ValueError if it is none.

        The requests go behind those that are there.
        """
        try:
            requests = document['allocation_requests']
            named = [(request, _providers(request)) for request in requests]
            summaries = document['provider_summaries']
            self.providers |= summaries.keys()
        except (KeyError, TypeError, AttributeError,
                ValueError) as exc:
            raise ValueError('it lists no allocation candidates') from exc
        for request, uuids in named:
            for uuid in uuids:
                self.by_provider.setdefault(uuid, []).append(request)
        if self.summaries is not None:
            self.requests.extend(requests)
            self.summaries.update(summaries)


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
