"""What Placement offers a request, and claiming it.

``Candidates`` is one answer of Placement with the way to claim from it;
``Claims`` is what one request has claimed so far. A request for which
Placement was not asked has no Candidates at all (None).
"""

import copy
import dataclasses
import json
import typing

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: What an ``allocation_request`` says when there is nothing to claim.
NO_CLAIM = 'null'


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The allocation requests that Placement offers for one request.

    by_provider: resource provider uuid -> list of the allocation requests
        that mention it, in Placement's order; dicts with ``allocations`` and,
        from microversion 1.34, ``mappings``.
    providers: uuids of all providers of the answer; a host is a candidate
        when its compute node's uuid is among them.
    version: microversion of the allocation requests.
    claim: function of (instance uuid, allocation request, RequestSpec) that
        returns whether Placement took it.
    release: function of an instance uuid that gives its claim back.
    """

    by_provider: dict
    providers: frozenset
    version: str
    claim: typing.Callable
    release: typing.Callable

    def of(self, provider_uuid):
        """A private copy of one provider's allocation requests: list."""
        return copy.deepcopy(self.by_provider.get(provider_uuid, []))


@dataclasses.dataclass(frozen=True)
class Taken:
    """A host taken for an instance.

    row: of the host table.  request: the allocation request that was claimed,
    or would be; None without Placement.
    """

    row: int
    request: dict | None

    @property
    def mapping(self):
        """Request group -> provider uuids, or None without Placement."""
        if self.request is None:
            return None
        return self.request.get('mappings') or {}

    def on_the_wire(self):
        """The allocation request as a Selection carries it: JSON text."""
        return NO_CLAIM if self.request is None else json.dumps(self.request)


class Claims:
    """Takes hosts for the instances of one request.

    candidates: Candidates or None.  Nothing is claimed without them, nor for
    callers that send no instance uuids.
    """

    def __init__(self, candidates, spec, instance_uuids):
        self._candidates, self._spec = candidates, spec
        self._claiming = candidates is not None and bool(instance_uuids)
        self._claimed = []

    def take(self, hosts, instance_uuid):
        """The first of the hosts that can be had: ``Taken``, or None.

        hosts: HostBlock, best first.
        """
        for row in hosts.rows.tolist():
            if not self._claiming:
                return self.first_of(hosts.snapshot, row)
            taken = self.first_of(hosts.snapshot, row)
            if taken is None:
                LOG.debug('%s has no allocation candidate',
                          hosts.snapshot.state(row))
            elif self._candidates.claim(instance_uuid, taken.request,
                                        self._spec):
                self._claimed.append(instance_uuid)
                return taken
        return None

    def first_of(self, snapshot, row):
        """The host with its first allocation request: ``Taken``.

        None for a host of which Placement offers none, or the filters left
        none.
        """
        if not self._claiming:
            return Taken(row, None)
        requests = snapshot.state(row).allocation_candidates
        return Taken(row, requests[0]) if requests else None

    @property
    def version(self):
        """Microversion of what was claimed, or None."""
        return self._candidates.version if self._claiming else None

    def release(self):
        """Give back all that was claimed, each as far as it can be."""
        while self._claimed:
            instance_uuid = self._claimed.pop()
            try:
                self._candidates.release(instance_uuid)
            except Exception:
                # The others must be given back nevertheless, and the caller
                # is to learn why the request failed, not what came after.
                LOG.exception(
                    'The allocations of instance %s, which was not placed, '
                    'could not be given back; remove them from Placement',
                    instance_uuid)
