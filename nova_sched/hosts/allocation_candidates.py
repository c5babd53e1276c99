"""What Placement offers one request: one of three values.

``PLACEMENT_NOT_USED``: Placement is not asked.  ``NoCandidates``: Placement
offers nothing, for a reason; ``NO_CANDIDATES`` has the usual one.
``AllocationCandidates``: what Placement offers, or what a copy of it has
(``SingleProviders``).
"""

import collections.abc
import copy
import dataclasses
import functools
import itertools

import numpy as np

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
    summaries: Placement's provider summaries: uuid -> dict with
        ``resources`` and, from 1.17, ``traits``; None unless the driver
        WANTS_SUMMARIES.
    age: seconds since the copy of what Placement knows, which these are from,
        was compared with it; None of what Placement itself has listed.
    cut_at: how many candidates a query asked for at most, if Placement listed
        as many and may have left out others; else None.
    """

    by_provider: dict
    providers: frozenset
    version: str
    summaries: dict | None = None
    age: float | None = None
    cut_at: int | None = None

    asked = True

    def of(self, provider_uuid):
        """Return a private copy of a provider's allocation requests: list."""
        return copy.deepcopy(self.by_provider.get(provider_uuid, []))

    def __str__(self):
        return f'{len(self.providers)} provider(s)'


class SingleProviders(collections.abc.Mapping):
    """Allocation requests that one provider each serves.

    A mapping, uuid -> list of dicts, which are made when they are asked for.

    rows: provider uuid -> row, ascending from 0; nobody changes it.
    offers: list of (resource class -> amount, which rows fit, bool (n,)), in
        order.
    """

    def __init__(self, rows, offers):
        self._rows, self._offers = rows, offers

    def __getitem__(self, uuid):
        row = self._rows[uuid]
        found = [_of_one(uuid, resources)
                 for resources, fits in self._offers if fits[row]]
        if not found:
            raise KeyError(uuid)
        return found

    def fitting(self, uuids):
        """Return which providers fit each offer: list.

        uuids: of providers, also of ones that are not known.
        Returns (resource class -> amount, bool (n,) beside uuids) of each.
        """
        rows = np.array([self._rows.get(uuid, -1) for uuid in uuids],
                        dtype=np.intp)
        return [(resources, (rows >= 0) & fits.take(rows, mode='clip'))
                for resources, fits in self._offers]

    def _fits(self):
        """Return which rows fit any of the offers: bool (n,)."""
        return functools.reduce(np.logical_or, (
            fits for _, fits in self._offers))

    def __iter__(self):
        return itertools.compress(self._rows, self._fits().tolist())

    def __len__(self):
        return int(np.count_nonzero(self._fits()))


def _of_one(uuid, resources):
    """Return the allocation request for all of one provider.

    In the form of microversion 1.34 and newer ones.
    """
    return {'allocations': {uuid: {'resources': dict(resources)}},
            'mappings': {'': [uuid]}}


class _PlacementNotUsed:
    """Placement is not used: all hosts are candidates, nothing is claimed."""

    asked, age = False, None

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

    asked, age = True, None
    providers = frozenset()

    def of(self, provider_uuid):
        return []


PLACEMENT_NOT_USED = _PlacementNotUsed()
NO_CANDIDATES = NoCandidates()
