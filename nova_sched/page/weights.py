"""The weights of the best hosts, as bars."""

import math
import typing

from nova_sched.page import facts as facts_

#: Most weighers with a colour of their own; the rest share one more colour.
MOST_WEIGHERS = 7
OTHERS = 'other weighers'


class Part(typing.NamedTuple):
    """A piece of a bar.

    place: of its weigher in Weights.keys.  score: of the weigher.
    left, width: in thousandths of the whole width.
    """

    place: int
    score: float
    left: float
    width: float


class Row(typing.NamedTuple):
    """A host.

    weight: a number, or as text if JSON has no such number.
    parts: list of Part.  scores: {weigher: score}, only finite scores.
    """

    host: str
    weight: float | str
    parts: list
    scores: dict


class Weights(typing.NamedTuple):
    """weighers: names of weighers with a score other than 0, in order.

    silent: names of the other weighers.
    keys: names for the pieces of bars: weighers, and OTHERS.
    rows: list of Row, best first.
    zero: start of the bars, in thousandths of the whole width.
    """

    weighers: list
    keys: list
    silent: list
    rows: list
    zero: float


def weights(facts):
    """Return the Weights of a facts.Facts; None if no host was weighed."""
    best = [host | {'host': facts_.name(host)}
            for host in facts.document.get('best') or ()]
    first = facts.picks[0] if facts.picks else None
    if best and first and first['host'] not in [
            host['host'] for host in best]:
        best.append(first)
    if not any(host['weighers'] for host in best):
        return None
    scores = [_scores(host) for host in best]
    ran = [part['name'] for part in best[0]['weighers']]
    weighers = [weigher for weigher in dict.fromkeys(ran) if any(
        by_weigher.get(weigher) for by_weigher in scores)]
    silent = [weigher for weigher in ran if weigher not in weighers]
    named = _largest(weighers, scores)
    pieces = [_pieces(by_weigher, named) for by_weigher in scores]
    low = max(-sum(min(piece, 0) for piece in bar) for bar in pieces)
    high = max(sum(max(piece, 0) for piece in bar) for bar in pieces)
    scale = 1000 / ((low + high) or 1)
    return Weights(
        weighers, named + ([OTHERS] if len(named) < len(weighers) else []),
        silent, [Row(host['host'], host['weight'],
                     _parts(bar, low * scale, scale), by_weigher)
                 for host, bar, by_weigher
                 in zip(best, pieces, scores, strict=True)],
        low * scale)


def _scores(host):
    """Return the score of each weigher for a host: {name: score}, if finite.

    A weigher may be enabled twice.
    """
    scores = {}
    for part in host['weighers']:
        score = part.get('score')
        if score is None:
            score = part['normalized'] * part['multiplier']
        if isinstance(score, int | float) and math.isfinite(score):
            scores[part['name']] = scores.get(part['name'], 0) + score
    return scores


def _largest(weighers, scores):
    """Return the weighers with the largest scores, in their order: list."""
    by_size = sorted(weighers, key=lambda weigher: -max(
        abs(by_weigher.get(weigher, 0)) for by_weigher in scores))
    return [weigher for weigher in weighers
            if weigher in by_size[:MOST_WEIGHERS]]


def _pieces(scores, named):
    """Return the score of each weigher, and the sum of all others: list."""
    others = sum(score for weigher, score in scores.items()
                 if weigher not in named)
    return [scores.get(weigher, 0) for weigher in named] + [others]


def _parts(pieces, zero, scale):
    left, right, parts = zero, zero, []
    for place, score in enumerate(pieces):
        width = abs(score) * scale
        if score < 0:
            left -= width
        if score:
            parts.append(Part(place, score, left if score < 0 else right,
                              width))
        if score > 0:
            right += width
    return parts
