"""What a live scheduler chose, held against what would be chosen here."""

import dataclasses

from nova_sched.hosts import decision
from nova_sched.hosts import offer

#: Agreement: the same hosts; other ones that weigh as much; none at all.
SAME, EQUALS, BOTH_REFUSE = 'same hosts', 'among equals', 'both refuse'
#: The live host is a good one here too, but others are better; or it is none
#: here; or only one side finds any host; or there was an error here.
LOWER, REFUSED_HERE, NONE_HERE, NONE_THERE, FAILED = (
    'ranked lower', 'host refused here', 'no host here', 'no host there',
    'failed here')
#: It cannot be told: the state moved between the two decisions, or what the
#: live scheduler decided does not show.
NOT_COMPARABLE = 'not comparable'

AGREEMENTS = (SAME, EQUALS, BOTH_REFUSE)
#: All of them, best first.
VERDICTS = (*AGREEMENTS, LOWER, REFUSED_HERE, NONE_HERE, NONE_THERE, FAILED,
            NOT_COMPARABLE)

#: The step of a record in which Placement leaves hosts out.
OFFERED = 'allocation candidates'

#: Weights are sums of floating point numbers, whose order may differ.
_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True)
class Live:
    """What a live scheduler decided.

    places: (host, node) of each instance; a node is None where it does not
    show.  Empty when it refused.  unseen: why that does not show, or None.
    """

    places: tuple = ()
    unseen: str | None = None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What came of a request.

    verdict: of VERDICTS.  rule: what it comes from, a filter's name or a few
    words; None for agreement.  why: the same with hosts and figures.
    otherwise: of what cannot be compared, what it looks like.
    """

    verdict: str
    rule: str | None = None
    why: str | None = None
    otherwise: str | None = None

    @property
    def agrees(self):
        """Whether both sides choose alike."""
        return self.verdict in AGREEMENTS


def compare(record, live, moved=(), subset_size=1):
    """Hold a live scheduler's decision against one's own: Comparison.

    record: closed Decision, made here.  live: Live.
    moved: what has changed between the two decisions, texts; with any, they
        are not comparable.
    subset_size: one of so many of the best is drawn.
    """
    if live.unseen:
        return Comparison(NOT_COMPARABLE, 'not seen', live.unseen)
    found = _compared(record, live, subset_size)
    if moved and found.verdict != FAILED:
        return Comparison(NOT_COMPARABLE, 'state moved', '; '.join(moved),
                          found.verdict)
    return found


def _compared(record, live, subset_size):
    if record.outcome == decision.FAILED:
        return Comparison(FAILED, 'error', 'the log tells the error')
    if record.outcome == decision.REFUSED:
        return _refused(record, live)
    if not live.places:
        return Comparison(NONE_THERE, 'refused there', 'here: ' + ', '.join(
            pick.host for pick in record.picks))
    mine, theirs = _unmatched(record, live.places)
    if not theirs:
        return Comparison(SAME)
    # The worst of them, each taken for that of our picks it suits best.
    return max((min((_judged(record, place, index, subset_size)
                     for index in mine), key=_badness)
                for place in theirs), key=_badness)


def _badness(comparison):
    return VERDICTS.index(comparison.verdict)


def _refused(record, live):
    """Of a request that no host is found for here."""
    if not live.places:
        return Comparison(BOTH_REFUSE)
    nothing = isinstance(record.offer, offer.NothingFound)
    if nothing and record.offer != offer.NOTHING_FOUND:
        return Comparison(FAILED, 'Placement', 'the log tells why Placement '
                          'named no candidates')
    for place in live.places:
        rule = _rejected_by(record, place)
        if rule is not None:
            return _of_rule(NONE_HERE, rule, place)
    if nothing:
        return _of_rule(NONE_HERE, OFFERED, live.places[0])
    return Comparison(NONE_HERE, 'refused before any filter',
                      f'live: {live.places[0][0]}')


def _unmatched(record, places):
    """What is not on both sides: (indices of picks, places)."""
    mine, theirs = list(range(len(record.picks))), []
    for place in places:
        for index in mine:
            pick = record.picks[index]
            if _is((pick.host, pick.nodename), place):
                mine.remove(index)
                break
        else:
            theirs.append(place)
    return mine or [0], theirs


def _is(ours, place):
    """Whether (host, node) is a place, of which the node may be unknown."""
    return ours[0] == place[0] and place[1] in (None, ours[1])


def _judged(record, place, index, subset_size):
    """What a live host is here, in place of one of the picks: Comparison."""
    weighed = (record.weighed[index] if index < len(record.weighed)
               else None)
    if weighed is not None:
        for rank, row in enumerate(weighed.rows.tolist()):
            if _is(record.host_of(row), place):
                return _weighed(record, place, index, rank, subset_size)
    rule = _rejected_by(record, place)
    if rule is not None:
        return _of_rule(REFUSED_HERE, rule, place)
    if not _is_known(record, place):
        return Comparison(REFUSED_HERE, 'unknown host',
                          f'{place[0]} is none of the {record.hosts} hosts '
                          f'that were read')
    if weighed is None:
        return Comparison(EQUALS)       # the driver draws them
    return Comparison(LOWER, 'weight',
                      f'{place[0]} is not among the best '
                      f'{len(weighed.rows)}')


def _weighed(record, place, index, rank, subset_size):
    """Of a live host that is the one of that rank here, 0 for the best."""
    weighed = record.weighed[index]
    weights = weighed.weights
    least = weights[min(subset_size, len(weights)) - 1]
    if weights[rank] >= least - _TOLERANCE:
        return Comparison(EQUALS)
    return Comparison(
        LOWER, 'weight',
        f'{place[0]} weighs {weights[rank]:.6g} and is number {rank + 1} of '
        f'{len(weights)}; {record.picks[index].host} weighs '
        f'{record.picks[index].weight:.6g}')


def _of_rule(verdict, rule, place):
    words = (f'Placement did not offer {place[0]}' if rule == OFFERED
             else f'{rule} refuses {place[0]}')
    return Comparison(verdict, rule, words)


def _rejected_by(record, place):
    """Name of the rule that rejected a host; None if none did."""
    for rule, rows in record.rejected():
        if any(_is(record.host_of(row), place) for row in rows.tolist()):
            return rule
    return None


def _is_known(record, place):
    """Whether a host was there; so it is for drivers that do not tell."""
    if not record.names:
        return True
    return any(_is(record.host_of(row), place)
               for row in range(len(record.names[0])))
