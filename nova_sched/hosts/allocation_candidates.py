"""What Placement offers one request: one of three values.

``PLACEMENT_NOT_USED``: Placement is not asked.  ``NoCandidates``: Placement
offers nothing, for a reason; ``NO_CANDIDATES`` has the usual one.
``AllocationCandidates``: what Placement offers; records keep it as
``PackedCandidates``.
"""

import copy
import dataclasses
import json
import typing
import zlib

#: The microversions of Placement that queries are written in, oldest first.
FORMS = ('1.17', '1.25', '1.29', '1.32', '1.35', '1.36', '1.39')


@dataclasses.dataclass(frozen=True)
class AllocationCandidates:
    """The allocation requests that Placement offers one request.

    by_provider: resource provider uuid -> list of the allocation requests
        that mention it, in Placement's order; dicts with ``allocations`` and,
        from microversion 1.34, ``mappings``.
    providers: uuids of all providers of the answer; a host is a candidate
        when its compute node's uuid is among them.
    version: microversion of the allocation requests.
    claim: function of (instance uuid, allocation request, RequestSpec) that
        returns whether Placement took it; None if it did not say in time.
    release: function of an instance uuid that gives its claim back.
    summaries: Placement's provider summaries: uuid -> dict with
        ``resources`` and, from 1.17, ``traits``; None unless the driver
        WANTS_SUMMARIES.
    """

    by_provider: dict
    providers: frozenset
    version: str
    claim: typing.Callable
    release: typing.Callable
    summaries: dict | None = None

    asked = True

    def of(self, provider_uuid):
        """Return a private copy of a provider's allocation requests: list."""
        return copy.deepcopy(self.by_provider.get(provider_uuid, []))

    def packed(self):
        """Return ``PackedCandidates``, for the record of a past request."""
        return PackedCandidates(zlib.compress(json.dumps(
            [self.by_provider, sorted(self.providers)]).encode(), 1),
            self.version)

    def __str__(self):
        return f'{len(self.providers)} provider(s)'


@dataclasses.dataclass(frozen=True)
class PackedCandidates:
    """Compressed ``AllocationCandidates``; nothing can be claimed."""

    _packed: bytes = dataclasses.field(repr=False)
    version: str

    asked = True

    @property
    def by_provider(self):
        return self._unpacked()[0]

    @property
    def providers(self):
        return frozenset(self._unpacked()[1])

    def forgotten(self):
        """Return the same without any allocation request."""
        return dataclasses.replace(self, _packed=b'')

    @property
    def nbytes(self):
        """The size in bytes."""
        return len(self._packed)

    def _unpacked(self):
        if not self._packed:
            return {}, ()
        return json.loads(zlib.decompress(self._packed))


class _PlacementNotUsed:
    """Placement is not used: all hosts are candidates, nothing is claimed."""

    asked = False

    def of(self, provider_uuid):
        return []

    def __repr__(self):
        return 'PLACEMENT_NOT_USED'


@dataclasses.dataclass(frozen=True)
class NoCandidates:
    """Placement was asked and offers nothing: there is no candidate.

    reason: why, for the record and the log.
    """

    reason: str = 'Placement offers no host'

    asked = True
    providers = frozenset()

    def of(self, provider_uuid):
        return []


PLACEMENT_NOT_USED = _PlacementNotUsed()
NO_CANDIDATES = NoCandidates()
