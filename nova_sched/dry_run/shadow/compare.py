"""Comparison of a live decision with the decision made here."""

import typing

from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.scheduler.attempt import OFFERED

#: Agreement: the same hosts; other hosts of equal weight; no host.
SAME, EQUALS, BOTH_REFUSE = 'same hosts', 'among equals', 'both refuse'
#: Disagreement: the live host passes here, but others weigh more; it is
#: rejected here; only one side finds a host; or the decision here failed.
LOWER, REFUSED_HERE, NONE_HERE, NONE_THERE, FAILED = (
    'ranked lower', 'host refused here', 'no host here', 'no host there',
    'failed here')
#: The state changed between the two decisions, or the live decision does not
#: show.
NOT_COMPARABLE = 'not comparable'

AGREEMENTS = (SAME, EQUALS, BOTH_REFUSE)
#: All verdicts, best first.
VERDICTS = (*AGREEMENTS, LOWER, REFUSED_HERE, NONE_HERE, NONE_THERE, FAILED,
            NOT_COMPARABLE)

#: Weights are floating point sums, and may be added in another order.
_TOLERANCE = 1e-9


class LiveDecision(typing.NamedTuple):
    """The decision of a live scheduler.

    places: (host, node) of each instance, the node None where it does not
        show; empty for a refusal.
    unseen: why the decision does not show, or None.
    """

    places: tuple = ()
    unseen: str | None = None


class Comparison(typing.NamedTuple):
    """The result of a comparison.

    verdict: one of VERDICTS.
    rule: the cause, a filter's name or a few words; None for agreement.
    why: the cause with hosts and figures.
    otherwise: for NOT_COMPARABLE, the verdict without the changes of state.
    """

    verdict: str
    rule: str | None = None
    why: str | None = None
    otherwise: str | None = None


def compare(record, live, changes=(), subset_size=1):
    """Compare a live decision with the decision made here: Comparison.

    record: closed Decision made here.  live: LiveDecision.
    changes: changes of state between the two decisions, texts; any of them
        makes the two not comparable.
    subset_size: number of the best hosts from which one is drawn.
    """
    if live.unseen:
        return Comparison(NOT_COMPARABLE, 'not seen', live.unseen)
    result = _compare(record, live, subset_size)
    if changes and result.verdict != FAILED:
        return Comparison(NOT_COMPARABLE, 'state moved', '; '.join(changes),
                          result.verdict)
    return result


def _compare(record, live, subset_size):
    if record.outcome == decision.FAILED:
        return Comparison(FAILED, 'error', 'see the log for the error')
    if record.outcome == decision.REFUSED:
        return _compare_refusal(record, live)
    if not live.places:
        return Comparison(NONE_THERE, 'refused there', 'here: ' + ', '.join(
            pick.host for pick in record.picks))
    picks, places = _unmatched(record, live.places)
    if not places:
        return Comparison(SAME)
    def severity(comparison):
        return VERDICTS.index(comparison.verdict)

    # The worst place counts, each compared with the pick that suits it best.
    return max((min((_compare_place(record, place, pick, subset_size)
                     for pick in picks), key=severity)
                for place in places), key=severity)


def _compare_refusal(record, live):
    """Compare a live decision with a refusal made here."""
    if not live.places:
        return Comparison(BOTH_REFUSE)
    no_candidates = isinstance(record.offer, NoCandidates)
    if no_candidates and record.offer != NO_CANDIDATES:
        return Comparison(FAILED, 'Placement', 'see the log for why Placement '
                          'named no candidates')
    for place in live.places:
        rule = _rejected_by(record, _rows_at(record, place))
        if rule is not None:
            return _rejection(NONE_HERE, rule, place)
    if no_candidates:
        return _rejection(NONE_HERE, OFFERED, live.places[0])
    return Comparison(NONE_HERE, 'refused before any filter',
                      f'live: {live.places[0][0]}')


def _unmatched(record, places):
    """Return the hosts of one side only: (indices of picks, places)."""
    indices, unmatched = list(range(len(record.picks))), []
    for place in places:
        index = next((index for index in indices
                      if _is_at(record.picks[index], place)), None)
        if index is None:
            unmatched.append(place)
        else:
            indices.remove(index)
    return indices or [0], unmatched


def _is_at(pick, place):
    """Return whether a Pick is at a place; a node of None matches all."""
    return pick.host == place[0] and place[1] in (None, pick.nodename)


def _rows_at(record, place):
    """Return the rows of a place among the hosts that were read: set."""
    return {row for row, (host, node) in enumerate(zip(*(
        column.items() for column in record.state.names), strict=True))
        if host == place[0] and place[1] in (None, node)}


def _compare_place(record, place, index, subset_size):
    """Compare a live place with the pick of that index: Comparison."""
    rows = _rows_at(record, place)
    weighed = (record.weighing.kept[index] if index < len(record.weighing.kept)
               else None)
    if weighed is not None:
        for rank, row in enumerate(weighed.rows.tolist()):
            if row in rows:
                return _compare_weights(record, place, index, rank,
                                        subset_size)
    rule = _rejected_by(record, rows)
    if rule is not None:
        return _rejection(REFUSED_HERE, rule, place)
    if record.state.names and not rows:
        return Comparison(REFUSED_HERE, 'unknown host',
                          f'{place[0]} is none of the {record.state.hosts} '
                          'hosts that were read')
    if weighed is None:
        return Comparison(EQUALS)       # The driver draws at random.
    return Comparison(LOWER, 'weight', f'{place[0]} is not among the best '
                      f'{len(weighed.rows)}')


def _compare_weights(record, place, index, rank, subset_size):
    """Compare a live host with the pick by their weights.

    rank: of the live host in the decision here, 0 for the best.
    """
    weights, pick = record.weighing.kept[index].weights, record.picks[index]
    least = weights[min(subset_size, len(weights)) - 1]
    if weights[rank] >= least - _TOLERANCE:
        return Comparison(EQUALS)
    return Comparison(
        LOWER, 'weight',
        f'{place[0]} weighs {weights[rank]:.6g} and is number {rank + 1} of '
        f'{len(weights)}; {pick.host} weighs {pick.weight:.6g}')


def _rejection(verdict, rule, place):
    why = (f'Placement did not offer {place[0]}' if rule == OFFERED
           else f'{rule} refuses {place[0]}')
    return Comparison(verdict, rule, why)


def _rejected_by(record, rows):
    """Return the name of the rule that rejected one of the rows, or None."""
    return next((rule for rule, rejected in record.funnel.rejected()
                 if not rows.isdisjoint(rejected.tolist())), None)
