"""Filters that look at what Placement offers for a host, too.

A host passes when one of its allocation candidates will do.  Those that will
not are taken off the host for the rest of the request: later filters and the
claim see only the others.  Where Placement was not asked, a host is judged
once, without a candidate.
"""

import itertools

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget

LOG = logging.getLogger(__name__)

#: What a host is judged with where there is nothing to choose from.
_NO_CANDIDATE = {'allocations': {}, 'mappings': {}}


class CandidateFilterMixin:
    """A mixin for plug-in filters that look at allocation candidates."""

    def filter_candidates(self, host_state, filter_func):
        """Return the allocation candidates of a host that pass: list.

        filter_func: function of an allocation candidate, a dict with
            ``allocations`` and ``mappings``, that returns whether it passes.
            Where Placement was not asked it gets one with nothing in them.
        The others are taken off the host.
        """
        asked = host_state.block().snapshot.offer.asked
        candidates = (host_state.allocation_candidates if asked
                      else [_NO_CANDIDATE])
        verdicts = [bool(filter_func(candidate)) for candidate in candidates]
        if asked:
            _keep(type(self).__name__, host_state, verdicts)
        return list(itertools.compress(candidates, verdicts))


def narrow(filter_, hosts, names, requests, judge):
    """Return which hosts pass: bool (n,); drop candidates that do not.

    filter_: name of the filter, for the log.
    names: of the label columns that the verdict depends on.
    requests: DeviceRequests; all that matters of a candidate is where these
        devices come from.
    judge: function of (values, mappings): the values of these columns and
        what each candidate of one host maps request groups to (one None where
        Placement was not asked).  Returns a list of one verdict a mapping; is
        called once for hosts that are alike.
    """
    if not hosts.snapshot.offer.asked:
        return hosts.judge_together(
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
    """Drop a host's refused candidates; return whether any is left."""
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
