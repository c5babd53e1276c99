"""Claiming hosts from what Placement offers, for one request."""

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

#: What an ``allocation_request`` says when there is nothing to claim.
NO_CLAIM = 'null'

#: Claims that Placement refuses of what a copy offers, before it is asked.
MOST_REFUSALS = 3

#: Listings of candidates for one request.  Of the last one hosts are left out
#: only while claims on them are under way.
MOST_LISTINGS = 3


@dataclasses.dataclass(frozen=True)
class ClaimedHost:
    """A host that an instance gets.

    row: its row of the host table.
    request: the allocation request that is claimed, or could be; None
        without Placement.
    """

    row: int
    request: dict | None = None

    @functools.cached_property
    def amounts(self):
        """What is claimed: provider uuid -> resource class -> amount."""
        return documents.amounts(self.request['allocations'])

    @property
    def mapping(self):
        """Request group -> provider uuids; None without Placement."""
        if self.request is None:
            return None
        return self.request.get('mappings') or {}

    def assign_providers(self, spec_obj):
        """Write the providers into the request groups of a RequestSpec."""
        if self.mapping:
            for group in spec_obj.requested_resources or ():
                group.provider_uuids = list(
                    self.mapping.get(group.requester_id, ()))

    def on_the_wire(self):
        """Return the allocation request for a Selection: JSON text."""
        return NO_CLAIM if self.request is None else json.dumps(self.request)


class Claims:
    """The hosts that one request chooses and claims in Placement.

    offer: scheduler.offer.Offer.  Nothing is claimed where Placement was not
        asked, nor for callers that send no instance uuids.
    record: the Decision that notes each claim.

    writes: provider uuid -> how many of its requests have changed what is
        held of it in Placement: Counter.
    """

    def __init__(self, offer, instance_uuids, record):
        self._offer, self._record = offer, record
        self.claiming = (offer.candidates is not PLACEMENT_NOT_USED
                         and bool(instance_uuids))
        #: Whether the hosts of several instances are claimed in one request.
        self.together = not self.claiming or bool(
            offer.claims and offer.claims.knows_new)
        self.writes = collections.Counter()
        # The answers to claims that were not granted, and the room that was
        # there.
        self._failed, self._room = [], _ENOUGH

    def choose(self, ranked, instance_uuid, refused=frozenset(), room=None):
        """Return the first host that may be claimed: ClaimedHost or None.

        ranked: rules.ranking.Ranked.
        refused: (host, node) pairs where Placement has refused a claim.
        room: what the copy of Placement has free, a
            placement.mirror.providers.Room; None where none is kept.
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
            if refused and _place(ranked.snapshot, row) in refused:
                continue
            chosen = self.first_of(ranked.snapshot, row)
            if not self.claiming:
                return chosen
            if (self._offer.is_copied
                    and len(self._failed) >= MOST_REFUSALS):
                # Placement has to list its candidates then.
                break
            if chosen is not None and room.take(chosen.amounts, listed_at):
                return chosen
        if self.claiming and len(ranked):
            LOG.debug('Unable to successfully claim against any host.')
        return None

    def _give_up(self, ranked, instance_uuid):
        """Choose nothing: the release of an earlier claim may end it."""
        LOG.warning('Nothing is claimed for instance %s, of which an earlier '
                    'claim is still to be given back', instance_uuid)
        # The answer to that claim is unknown as well.
        self._note(instance_uuid, _place(
            ranked.snapshot, next(iter(ranked.rows()))), None)

    def list_candidates(self):
        """Have Placement list what it offers now.

        Returns False if it has done so already and nobody has taken any of it
        since, or MOST_LISTINGS times, and for claims that Placement does not
        answer.
        Raises as of Offer.list_candidates.
        """
        is_outdated = (self._room.outdated
                       and self._offer.listings < MOST_LISTINGS)
        if None in self._failed or not (self._offer.is_copied or is_outdated):
            return False
        LOG.debug('No host by what is known of Placement, asking it')
        self.release()
        with self._record.timed('wait'):
            self._room.wait()
        self._failed = []
        self._record.restart()
        self._offer.list_candidates(self._record)
        self._record.offer = self._offer.candidates
        self.together = self._offer.claims.knows_new
        return True

    def claim(self, chosen, spec_obj):
        """Claim hosts one by one; return the uuids that are refused: list.

        chosen: instance uuid -> ((host, node), ClaimedHost).
        """
        return [uuid for uuid, host in chosen.items()
                if self.claiming and not self._claim(uuid, *host, spec_obj)]

    def claim_all(self, chosen, spec_obj):
        """Claim hosts in one request; return whether Placement grants it.

        If not, none is claimed, and the others are to be claimed one by one.
        """
        if not self.claiming:
            return True
        with self._record.timed('claims'):
            self.together = bool(self._offer.claims.claim_all({
                uuid: host.request for uuid, (_, host) in chosen.items()},
                spec_obj))
            if self.together:
                self.writes.update({uuid for _, host in chosen.values()
                                    for uuid in host.amounts})
                for uuid, (place, _) in chosen.items():
                    self._note(uuid, place, True)
        return self.together

    def _claim(self, instance_uuid, place, chosen, spec_obj):
        with self._record.timed('claims'):
            granted = self._offer.claims.claim(instance_uuid, chosen.request,
                                               spec_obj)
            self._note(instance_uuid, place, granted)
            if granted:
                self.writes.update(self._offer.claims.writes)
            else:
                self._offer.source.doubt(chosen.amounts)
        return granted

    def _note(self, instance_uuid, place, granted):
        self._record.claims.append(Claim(instance_uuid, *place, granted))
        if not granted:
            self._failed.append(granted)

    def first_of(self, snapshot, row):
        """Return a host with its first allocation request: ``ClaimedHost``.

        None for a host without one, because Placement offers none or the
        filters left none.
        """
        return first_of(snapshot, row) if self.claiming else ClaimedHost(row)

    @property
    def candidates(self):
        """What Placement offers: a value of hosts.allocation_candidates."""
        return self._offer.candidates

    @property
    def version(self):
        """Microversion of what was claimed, or None."""
        return self._offer.candidates.version if self.claiming else None

    def release(self):
        """Release all that was claimed."""
        claimed = self._offer.held()
        if claimed:
            LOG.debug('Cleaning up allocations for %s', claimed)
        releases.give_back(self._offer.claims, claimed[::-1])
        self.writes.clear()


class _Enough:
    """In place of a Room: Placement has offered all that is chosen."""

    outdated = frozenset()

    def take(self, amounts, listed_at=None):
        return True

    def wait(self):
        pass


_ENOUGH = _Enough()


def _place(snapshot, row):
    """Return the (host, node) of a row."""
    return snapshot.cell('host', row), snapshot.cell('nodename', row)


def first_of(snapshot, row):
    """Return a host with its first allocation request: see Claims."""
    state = snapshot.state(row)
    requests = state.allocation_candidates
    if not requests:
        LOG.debug("A host state with uuid = '%s' that did not have a "
                  'matching allocation_request was encountered while '
                  'scheduling. This host was skipped.', state.uuid)
        return None
    return ClaimedHost(row, requests[0])
