"""Claiming hosts from what Placement offers, for one request."""

import dataclasses
import json

from oslo_log import log as logging

from nova_sched.hosts import offer as placement_offer
from nova_sched.hosts.decision import Claim

LOG = logging.getLogger(__name__)

#: What an ``allocation_request`` says when there is nothing to claim.
NO_CLAIM = 'null'


@dataclasses.dataclass(frozen=True)
class Taken:
    """A host taken for an instance.

    row: of the host table.  request: the allocation request that was claimed,
    or would be; None without Placement.
    """

    row: int
    request: dict | None = None

    @property
    def mapping(self):
        """Request group -> provider uuids, or None without Placement."""
        if self.request is None:
            return None
        return self.request.get('mappings') or {}

    def tell(self, spec_obj):
        """Have the request groups of a RequestSpec name their providers."""
        if self.mapping:
            for group in spec_obj.requested_resources or ():
                group.provider_uuids = list(
                    self.mapping.get(group.requester_id, ()))

    def on_the_wire(self):
        """The allocation request as a Selection carries it: JSON text."""
        return NO_CLAIM if self.request is None else json.dumps(self.request)


class Claims:
    """Takes hosts for the instances of one request.

    offer: one of the values of hosts.offer.  Nothing is claimed where
        Placement was not asked, nor for callers that send no instance uuids.
    record: the Decision that notes each claim.
    """

    def __init__(self, offer, instance_uuids, record):
        self._offer, self._record = offer, record
        self.claiming = (offer is not placement_offer.NOT_ASKED
                         and bool(instance_uuids))
        self._claimed = []

    def take(self, hosts, instance_uuid, spec_obj):
        """The first of the hosts that can be had: ``Taken``, or None.

        hosts: HostBlock, best first.
        """
        for row in hosts.rows.tolist():
            taken = self.first_of(hosts.snapshot, row)
            if not self.claiming:
                return taken
            if taken is None:
                LOG.debug('%s has no allocation candidate',
                          hosts.snapshot.state(row))
            elif self._claim(hosts.snapshot.state(row), taken, instance_uuid,
                             spec_obj):
                return taken
        return None

    def _claim(self, state, taken, instance_uuid, spec_obj):
        # First: it may have been taken though no answer comes.
        self._claimed.append(instance_uuid)
        accepted = self._offer.claim(instance_uuid, taken.request, spec_obj)
        self._record.claims.append(Claim(
            instance_uuid, state.host, state.nodename, accepted))
        if not accepted:
            self._claimed.pop()
        return accepted

    def first_of(self, snapshot, row):
        """The host with its first allocation request: ``Taken``.

        None for a host of which Placement offers none, or the filters left
        none.
        """
        if not self.claiming:
            return Taken(row)
        requests = snapshot.state(row).allocation_candidates
        return Taken(row, requests[0]) if requests else None

    @property
    def version(self):
        """Microversion of what was claimed, or None."""
        return self._offer.version if self.claiming else None

    def release(self):
        """Give back all that was claimed, each as far as it can be."""
        give_back(self._offer, reversed(self._claimed))
        self._claimed.clear()


def give_back(offer, instance_uuids):
    """Have Placement take back the claims of instances."""
    for instance_uuid in instance_uuids:
        try:
            offer.release(instance_uuid)
        except Exception:
            # The others must be given back nevertheless, and the caller is
            # to learn why the request failed, not what came after.
            LOG.exception(
                'The allocations of instance %s, which was not placed, could '
                'not be given back; remove them from Placement',
                instance_uuid)
