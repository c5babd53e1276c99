"""What requests ask of the copy, and what their claims tell it."""

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import SingleProviders
from nova_sched.placement import allocations
from nova_sched.placement.mirror.providers import Providers
from nova_sched.placement.mirror.reader import ProviderReader
from nova_sched.placement.mirror.shared_answers import SharedAnswers
from nova_sched.placement.mirror.upkeep import QUESTIONS
from nova_sched.placement.mirror.upkeep import Upkeep

LOG = logging.getLogger(__name__)

#: Aggregates whose members one request reads, at most: a listing takes as long
#: as some of them.
MOST_LEARNED = 4


def shared_answers(workers):
    """Return the SharedAnswers for the mirrors of workers to be forked."""
    return SharedAnswers(QUESTIONS, workers)


class PlacementMirror:
    """A copy of what Placement knows of its providers, kept up.

    adapter: PlacementAdapter.  freed, answers: as of Upkeep.

    providers: the Providers of the copy.
    """

    def __init__(self, adapter, freed=tuple, answers=None):
        self.providers = Providers()
        self._upkeep = Upkeep(ProviderReader(adapter), self.providers, freed,
                              answers)

    def start(self):
        """Begin to fill it, in the background."""
        self._upkeep.start()

    def stop(self):
        """Keep it up no longer."""
        self._upkeep.stop()

    @property
    def age(self):
        """As of Upkeep."""
        return self._upkeep.age

    def forget_aggregates(self):
        """Have the members of aggregates read again when they are asked for.
        """
        self.providers.forget_members()

    def candidates(self, queries):
        """Return who fits: SingleProviders.

        queries: list of rules.resources.query.ResourceRequest.
        None if Placement is to be asked: only it can tell, or nobody fits, or
        the copy is not complete or too old.
        """
        if self.age is None:
            return None
        missing = sorted(set().union(*map(
            self.providers.without_members, queries)))
        try:
            for aggregate in missing[:MOST_LEARNED]:
                self._learn(aggregate)
        except exception.PlacementError as error:
            LOG.debug('Asking Placement for candidates: %s', error)
            return None
        found = [self.providers.matching(query) for query in queries]
        rows = found[0][0]
        if any(fits is None or others is not rows for others, fits in found):
            return None
        offered = SingleProviders(rows, [
            (query.groups[''].resources, fits)
            for query, (_, fits) in zip(queries, found, strict=True)])
        return offered or None

    def _learn(self, aggregate):
        if uuidutils.is_uuid_like(aggregate):
            self._upkeep.learn(aggregate)

    def watched(self, claims, certain):
        """Return the claims of one request, which tell the copy.

        claims: AllocationClaims.
        certain: whether Placement has offered what is claimed, not the copy.
        """
        return WatchedClaims(claims, self.providers, self._upkeep, certain)


class WatchedClaims:
    """Claims of one request that the copy takes note of.

    What is claimed counts as used from the moment it is chosen.  A provider
    on which a claim is refused is in doubt until it is read anew.

    claims: AllocationClaims.  providers: Providers.  upkeep: Upkeep.
    certain: whether Placement has offered what is claimed, not the copy.
    """

    def __init__(self, claims, providers, upkeep, certain):
        self._claims, self._certain = claims, certain
        self._providers, self._upkeep = providers, upkeep
        # By instance, provider -> class -> amount.
        self._reserved, self._held = {}, {}

    def reserve(self, instance_uuid, request):
        """Return whether a request may be claimed, by what the copy knows."""
        amounts = allocations.amounts(request['allocations'])
        if not self._providers.reserve(amounts, always=self._certain):
            return False
        self._reserved[instance_uuid] = amounts
        return True

    def claim(self, instance_uuid, request, spec_obj):
        """As AllocationClaims.claim."""
        accepted = None
        try:
            accepted = self._claims.claim(instance_uuid, request, spec_obj)
            return accepted
        finally:
            self._note([instance_uuid], accepted, self._claims.wrote)

    @property
    def knows_new(self):
        """As of AllocationClaims."""
        return self._claims.knows_new

    def claim_all(self, requests, spec_obj):
        """As AllocationClaims.claim_all.

        Which of the providers refuses shows when they are claimed one by one.
        """
        accepted = False
        try:
            accepted = self._claims.claim_all(requests, spec_obj)
            return accepted
        finally:
            self._note(requests, accepted, wrote=True, doubted=False)

    def _note(self, instance_uuids, accepted, wrote, doubted=True):
        """Note what became of what was reserved for instances.

        wrote: whether it was a request of its own, not part of another one.
        """
        reserved = {uuid: self._reserved.pop(uuid, {})
                    for uuid in instance_uuids}
        named = set().union(*reserved.values())
        if accepted:
            if wrote:
                self._providers.written(named)
            for amounts in reserved.values():
                self._providers.claimed(amounts)
            self._held |= reserved
            return
        for amounts in reserved.values():
            self._providers.refused(amounts, doubted)
        if doubted:
            self._upkeep.doubt(named)

    def release(self, instance_uuid):
        """As AllocationClaims.release."""
        self._drop(instance_uuid)
        released = self._claims.release(instance_uuid)
        amounts = self._held.pop(instance_uuid, {})
        if released:
            self._providers.released(amounts)
        return released

    def release_all(self, instance_uuids):
        """As AllocationClaims.release_all."""
        released = self._claims.release_all(instance_uuids)
        freed = [self._held.pop(uuid, {}) for uuid in released]
        self._providers.written(set().union(*freed))
        for amounts in freed:
            self._providers.released(amounts)
        return released

    def _drop(self, instance_uuid):
        """Free what was reserved and not claimed."""
        self._providers.refused(
            self._reserved.pop(instance_uuid, {}), doubted=False)
