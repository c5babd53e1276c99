"""A Placement in memory: offers hosts, grants claims or refuses them."""

from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.scheduler.offer import Offer


class Placement:
    """Offers hosts by provider uuids.

    offers: provider uuid -> list of allocation requests; a list of uuids
        stands for one request each.
    refuses: uuids of providers; claims on them are refused.
    keeps: uuids of instances; releases of their claims fail.
    silent: uuids of instances; their claims are granted without an answer.
    late: uuids of providers and instances; their claims time out.
    """

    VERSION = '1.36'
    #: As of placement.claims.AllocationClaims.
    has_generations, writes = False, ()

    def __init__(self, offers, refuses=(), keeps=(), silent=(),
                 late=()):
        if not isinstance(offers, dict):
            offers = {uuid: [an_allocation_request(uuid)] for uuid in offers}
        self._offers, self._refuses = offers, set(refuses)
        self._keeps, self._silent = set(keeps), set(silent)
        self._late = set(late)
        self.claimed, self.released = [], []

    def candidates(self, **fields):
        """The AllocationCandidates of a request."""
        return AllocationCandidates(self._offers, frozenset(self._offers),
                                    self.VERSION, **fields)

    def offer(self, **fields):
        """The Offer that a driver is given; fields: of the candidates."""
        return Offer(self.candidates(**fields), self, self)

    def invalidate(self, providers):
        """There is no mirror."""

    def held(self):
        return [uuid for uuid, *_ in self.claimed
                if uuid not in self.released]

    def release_all(self, instance_uuids):
        return ()

    def release(self, instance_uuid):
        if instance_uuid in self._keeps:
            raise ConnectionError('Placement is gone')
        self.released.append(instance_uuid)

    def claim(self, instance_uuid, request, spec):
        if self._refuses & request['allocations'].keys():
            return False
        if self._late & {instance_uuid, *request['allocations']}:
            return None
        self.claimed.append((instance_uuid, *request['allocations']))
        if instance_uuid in self._silent:
            raise TimeoutError
        return True


def an_allocation_request(provider, **mappings):
    """One VCPU of a provider; mappings: request group -> provider uuids."""
    return {'allocations': {provider: {'resources': {'VCPU': 1}}},
            'mappings': {'': [provider], **mappings}}
