"""Choosing claimable hosts, and claiming them in Placement, for one request.
"""

import collections
import dataclasses
import functools
import json
import math

from oslo_log import log as logging

from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.decision import Claim
from nova_sched.placement import documents
from nova_sched.placement import releases

LOG = logging.getLogger(__name__)

#: The ``allocation_request`` of a Selection without Placement: JSON text.
NO_CLAIM = 'null'

#: Maximum number of refused claims on the mirror's candidates; after that,
#: candidates are requested from Placement.
MOST_REFUSALS = 3

#: Maximum number of listings for one request.  From the last listing, a
#: candidate is skipped only while a concurrent claim on it is in progress.
MOST_LISTINGS = 3


@dataclasses.dataclass(frozen=True)
class ClaimedHost:
    """A host chosen for an instance.

    row: its row of the host table.
    request: the allocation request to claim; None without Placement.
    """

    row: int
    request: dict | None = None

    @functools.cached_property
    def amounts(self):
        """The amounts to claim: provider uuid -> resource class -> amount."""
        return documents.amounts(self.request['allocations'])

    @property
    def mapping(self):
        """Request group -> provider uuids; None without Placement."""
        if self.request is None:
            return None
        return self.request.get('mappings') or {}

    def assign_providers(self, spec_obj):
        """Set the provider uuids of a RequestSpec's request groups."""
        if self.mapping:
            for group in spec_obj.requested_resources or ():
                group.provider_uuids = list(
                    self.mapping.get(group.requester_id, ()))

    def on_the_wire(self):
        """Return the allocation request for a Selection: JSON text."""
        return NO_CLAIM if self.request is None else json.dumps(self.request)


class Claims:
    """Chooses and claims the hosts of one request.

    offer: scheduler.offer.Offer, the request's candidates and claims in
        Placement.  Nothing is claimed if Placement is not used, or for callers
        that send no instance uuids.
    record: the Decision to record claims in.

    writes: provider uuid -> number of this request's successful writes to the
        provider's allocations: Counter.
    """

    def __init__(self, offer, instance_uuids, record):
        self._offer, self._record = offer, record
        self.claiming = (offer.candidates is not PLACEMENT_NOT_USED
                         and bool(instance_uuids))
        #: Whether several instances are claimed in one request to Placement.
        self.together = not self.claiming or bool(
            offer.claims and offer.claims.has_generations)
        self.writes = collections.Counter()
        # Results of failed claims since the last listing (False if refused,
        # None if unanswered); the Room of the last call of ``choose``.
        self._failed, self._room = [], _ENOUGH

    def choose(self, ranked, instance_uuid, refused=frozenset(), room=None):
        """Return the first host that can be claimed: ClaimedHost or None.

        ranked: scheduler.ranking.Ranked.
        refused: (host, node) pairs where Placement has refused a claim.
        room: free amounts in the mirror, a placement.mirror.providers.Room;
            None without a mirror.
        """
        if self.claiming and len(ranked) and releases.is_under_way(
                instance_uuid):
            self._give_up(ranked, instance_uuid)
            return None
        listed_at = self._offer.listed_at
        if self._offer.listings >= MOST_LISTINGS:
            listed_at = math.inf
        self._room = room = _ENOUGH if room is None else room
        for row in ranked.rows():
            if refused and ranked.snapshot.names(row) in refused:
                continue
            chosen = self.first_of(ranked.snapshot, row)
            if not self.claiming:
                return chosen
            if (self._offer.is_mirrored
                    and len(self._failed) >= MOST_REFUSALS):
                # The driver requests candidates from Placement then.
                break
            if chosen is not None and room.take(chosen.amounts, listed_at):
                return chosen
        if self.claiming and len(ranked):
            LOG.debug('Unable to successfully claim against any host.')
        return None

    def _give_up(self, ranked, instance_uuid):
        """Choose no host: a pending release could remove the new claim."""
        LOG.warning('Not claiming for instance %s: the release of an earlier '
                    'claim is still pending', instance_uuid)
        # Recorded as unanswered: the outcome of the earlier claim is unknown.
        self._note(instance_uuid, ranked.snapshot.names(
            next(iter(ranked.rows()))), None)

    def list_candidates(self):
        """Request new candidates from Placement; return whether that was done.

        Returns False if a claim is unanswered, or if the last listing came
        from Placement and is still current or was the MOST_LISTINGS-th.
        Raises the exceptions of Offer.list_candidates.
        """
        is_outdated = (self._room.outdated
                       and self._offer.listings < MOST_LISTINGS)
        if None in self._failed or not (
                self._offer.is_mirrored or is_outdated):
            return False
        LOG.debug('No host left among the current allocation candidates; '
                  'requesting new ones from Placement')
        self.release()
        with self._record.timed('wait'):
            self._room.wait()
        self._failed = []
        self._record.restart()
        self._offer.list_candidates(self._record)
        self._record.offer = self._offer.candidates
        self.together = self._offer.claims.has_generations
        return True

    def claim(self, chosen, spec_obj):
        """Claim hosts in one request; return whether Placement grants it.

        If not, nothing is claimed.  The caller must then choose and claim
        several hosts, and later ones, one by one.
        chosen: instance uuid -> ((host, node), ClaimedHost).
        """
        if not self.claiming:
            return True
        claims = self._offer.claims
        requests = {uuid: host.request for uuid, (_, host) in chosen.items()}
        with self._record.timed('claims'):
            if len(requests) > 1:
                granted = self.together = bool(
                    claims.claim_all(requests, spec_obj))
                writes = {uuid for _, host in chosen.values()
                          for uuid in host.amounts}
            else:
                [(uuid, request)] = requests.items()
                granted = claims.claim(uuid, request, spec_obj)
                writes = claims.writes if granted else ()
            # Before the end of the block, which may raise InvalidInput.
            if granted:
                self.writes.update(writes)
            if granted or len(chosen) == 1:
                for uuid, (place, host) in chosen.items():
                    self._note(uuid, place, granted)
                    if not granted:
                        self._offer.source.invalidate(host.amounts)
        return bool(granted)

    def _note(self, instance_uuid, place, granted):
        self._record.claims.append(Claim(instance_uuid, *place, granted))
        if not granted:
            self._failed.append(granted)

    def first_of(self, snapshot, row):
        """Return a host with its first allocation request: ``ClaimedHost``.

        None for a host without one: Placement has none for it, or the filters
        rejected all.
        """
        return (first_request(snapshot, row) if self.claiming
                else ClaimedHost(row))

    @property
    def candidates(self):
        """Placement's candidates: a value of hosts.allocation_candidates."""
        return self._offer.candidates

    @property
    def version(self):
        """Microversion of the allocation requests, or None."""
        return self._offer.candidates.version if self.claiming else None

    def release(self):
        """Release all claims."""
        claimed = self._offer.held()
        if claimed:
            LOG.debug('Cleaning up allocations for %s', claimed)
        releases.release_claims(self._offer.claims, claimed[::-1])
        self.writes.clear()


class _Enough:
    """A Room without limits, for requests without a mirror."""

    outdated = frozenset()

    def take(self, amounts, listed_at=None):
        return True

    def wait(self):
        pass


_ENOUGH = _Enough()


def first_request(snapshot, row):
    """Return a host with its first allocation request, see Claims.first_of."""
    state = snapshot.state(row)
    requests = state.allocation_candidates
    if not requests:
        LOG.debug("A host state with uuid = '%s' that did not have a "
                  'matching allocation_request was encountered while '
                  'scheduling. This host was skipped.', state.uuid)
        return None
    return ClaimedHost(row, requests[0])
