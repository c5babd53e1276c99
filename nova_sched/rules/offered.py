"""Filters that also judge the allocation candidates of a host.

A host passes if one of its allocation candidates passes.  Rejected candidates
are removed from the host for the rest of the request, so that later filters
and the claim do not see them.  Without Placement, a host is judged once,
without a candidate.
"""

import itertools

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget

LOG = logging.getLogger(__name__)

#: The candidate that a plug-in judges without Placement.
_NO_CANDIDATE = {'allocations': {}, 'mappings': {}}


class CandidateFilterMixin:
    """A mixin for plug-in filters that judge allocation candidates."""

    def filter_candidates(self, host_state, filter_func):
        """Return the allocation candidates of a host that pass: list.

        Other candidates are removed from the host.
        filter_func: function of an allocation candidate, a dict with
            ``allocations`` and ``mappings``, that returns whether it passes.
            Without Placement, both dicts are empty.
        """
        is_used = host_state.block().snapshot.offer.is_used
        candidates = (host_state.allocation_candidates if is_used
                      else [_NO_CANDIDATE])
        verdicts = [bool(filter_func(candidate)) for candidate in candidates]
        if is_used:
            _keep(type(self).__name__, host_state, verdicts)
        return list(itertools.compress(candidates, verdicts))


def narrow(filter_, hosts, names, requests, judge):
    """Return which hosts pass: bool (n,), and remove rejected candidates.

    filter_: name of the filter, for the log.
    names: names of the label columns that the verdict depends on.
    requests: DeviceRequests; the verdict on a candidate depends only on the
        providers of these devices.
    judge: function of (values, mappings) that returns a list of verdicts, one
        for each mapping.  The first argument has a value of each column, the
        second the mappings of a host's candidates, or [None] without
        Placement.
        It is called once for all hosts with equal arguments.
    """
    if not hosts.snapshot.offer.is_used:
        return hosts.evaluate_together(
            names, lambda *values: judge(values, [None])[0])
    known = {}
    passes = np.zeros(len(hosts), dtype=np.bool_)
    columns = zip(*(hosts.objects(name) for name in names), strict=True)
    for i, (state, values) in enumerate(
            zip(hosts.states(), columns, strict=True)):
        budget.check()
        mappings = [candidate.get('mappings') or {}
                    for candidate in state.allocation_candidates]
        key = values, tuple(map(requests.providers, mappings))
        if key not in known:
            try:
                known[key] = judge(values, mappings)
            except Exception as exc:
                hosts.blame(exc, i)
                raise
        passes[i] = _keep(filter_, state, known[key])
    return passes


def _keep(filter_, state, verdicts):
    """Remove a host's rejected candidates; return whether any passes."""
    candidates = state.allocation_candidates
    if LOG.isEnabledFor(logging.DEBUG):
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            LOG.debug('%s tries allocation candidate: %s',
                      filter_, candidate)
            LOG.debug('%s %s allocation candidate: %s', filter_,
                      'accepted' if verdict else 'rejected', candidate)
    if not all(verdicts):
        state.allocation_candidates = list(
            itertools.compress(candidates, verdicts))
    return any(verdicts)
