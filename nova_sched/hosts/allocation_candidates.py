"""Placement's candidates for one request: one of three values.

``PLACEMENT_NOT_USED``: the request does not use Placement.
``NoCandidates``: there are none, for a reason; ``NO_CANDIDATES`` has the usual
reason.
``AllocationCandidates``: candidates that Placement listed, or candidates from
the mirror (``SingleProviders``).
"""

import collections.abc
import copy
import dataclasses
import functools
import itertools

import numpy as np

#: The microversions of Placement for queries, oldest first.
FORMS = ('1.17', '1.25', '1.29', '1.32', '1.35', '1.36', '1.39')


@dataclasses.dataclass(frozen=True)
class AllocationCandidates:
    """The allocation requests of one request.

    by_provider: resource provider uuid -> list of the allocation requests
        that mention it, in Placement's order; dicts with ``allocations`` and,
        from microversion 1.34, ``mappings``.
    providers: uuids of all providers; a host is a candidate if its compute
        node's uuid is among them.
    version: microversion of the allocation requests.
    summaries: Placement's provider summaries: uuid -> dict with
        ``resources`` and, from 1.17, ``traits``; None unless the driver
        WANTS_SUMMARIES.
    age: seconds since the mirror was compared with Placement, for candidates
        from the mirror; None for candidates that Placement listed.
    cut_at: limit of the query, if Placement listed as many candidates and may
        have left out others; otherwise None.
    """

    by_provider: dict
    providers: frozenset
    version: str
    summaries: dict | None = None
    age: float | None = None
    cut_at: int | None = None

    is_used = True

    def of(self, provider_uuid):
        """Return a copy of a provider's allocation requests: list."""
        return copy.deepcopy(self.by_provider.get(provider_uuid, []))

    def __str__(self):
        return f'{len(self.providers)} provider(s)'


class SingleProviders(collections.abc.Mapping):
    """Allocation requests with a single provider each, from the mirror.

    A mapping, uuid -> list of dicts, which are created at access.

    rows: provider uuid -> row, ascending from 0; never changed.
    offers: list of pairs, one for each query: resource class -> amount, and
        which rows have the amounts, bool (n,).
    """

    def __init__(self, rows, offers):
        self._rows, self._offers = rows, offers

    def __getitem__(self, uuid):
        row = self._rows[uuid]
        # In the form of microversion 1.34 and later.
        requests = [{'allocations': {uuid: {'resources': dict(resources)}},
                     'mappings': {'': [uuid]}}
                    for resources, fits in self._offers if fits[row]]
        if not requests:
            raise KeyError(uuid)
        return requests

    def fitting(self, uuids):
        """Return which of some providers match each query: list of pairs.

        uuids: uuids of providers, which may be unknown.
        Each pair has resource class -> amount, and bool (n,) for the uuids.
        """
        rows = np.array([self._rows.get(uuid, -1) for uuid in uuids],
                        dtype=np.intp)
        return [(resources, (rows >= 0) & fits.take(rows, mode='clip'))
                for resources, fits in self._offers]

    def _fits(self):
        """Return which rows match any query: bool (n,)."""
        return functools.reduce(np.logical_or, (
            fits for _, fits in self._offers))

    def __iter__(self):
        return itertools.compress(self._rows, self._fits().tolist())

    def __len__(self):
        return int(np.count_nonzero(self._fits()))


class _PlacementNotUsed:
    """The value if Placement is not used: all hosts are candidates."""

    is_used, age = False, None

    def of(self, provider_uuid):
        return []

    def __repr__(self):
        return 'PLACEMENT_NOT_USED'


@dataclasses.dataclass(frozen=True)
class NoCandidates:
    """The value if Placement has no candidate.

    reason: the cause, for the record and the log.
    """

    reason: str = 'Placement offers no host'

    is_used, age = True, None
    providers = frozenset()

    def of(self, provider_uuid):
        return []


PLACEMENT_NOT_USED = _PlacementNotUsed()
NO_CANDIDATES = NoCandidates()
