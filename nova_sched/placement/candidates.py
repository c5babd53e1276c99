"""Reading the candidates that Placement offers."""

import dataclasses


@dataclasses.dataclass
class Candidates:
    """The allocation candidates of one request, whose queries may be several.

    by_provider: provider uuid -> list of the allocation requests that mention
        it, in order.  providers: uuids of all providers that were told of.
    """

    by_provider: dict = dataclasses.field(default_factory=dict)
    providers: set = dataclasses.field(default_factory=set)

    def add(self, document):
        """Add the answer to one query, a dict; ValueError if it is none.

        The requests go behind those that are there.
        """
        try:
            requests = document['allocation_requests']
            named = [(request, _providers(request)) for request in requests]
            self.providers |= document['provider_summaries'].keys()
        except (KeyError, TypeError, AttributeError) as exc:
            raise ValueError('it lists no allocation candidates') from exc
        for request, uuids in named:
            for uuid in uuids:
                self.by_provider.setdefault(uuid, []).append(request)


def _providers(request):
    """The uuids that an allocation request mentions: keys of a dict."""
    allocations = request['allocations']
    for wanted in allocations.values():
        if not all(type(amount) is int
                   for amount in wanted['resources'].values()):
            raise TypeError('amounts are integers')
    return allocations.keys()
