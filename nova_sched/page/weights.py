"""What weighers gave the best hosts, as bars."""

import math
import typing

from nova_sched.page import facts as facts_

#: Weighers with a colour of their own; what is over them is one more.
MOST_WEIGHERS = 7
OTHERS = 'other weighers'


class Part(typing.NamedTuple):
    """A piece of a bar.

    place: of its weigher in Weights.keys.  score: what it gave.
    left, width: in thousandths of the whole width.
    """

    place: int
    score: float
    left: float
    width: float


class Row(typing.NamedTuple):
    """A host.

    weight: a number, or a word for one that JSON has not.
    parts: list of Part.  scores: {weigher: score}, of finite ones.
    """

    host: str
    weight: float | str
    parts: list
    scores: dict


class Weights(typing.NamedTuple):
    """weighers: names of those that differ from 0 on any host, in order.

    silent: names of the others.
    keys: what the pieces of bars are of: names of weighers, and OTHERS.
    rows: list of Row, best first.
    zero: where the bars begin, in thousandths of the whole width.
    """

    weighers: list
    keys: list
    silent: list
    rows: list
    zero: float


def weights(facts):
    """Return the Weights of a facts.Facts; None where nothing was weighed.
    """
    best = [each | {'host': facts_.name(each)}
            for each in facts.document.get('best') or ()]
    first = facts.picks[0] if facts.picks else None
    if best and first and first['host'] not in [
            each['host'] for each in best]:
        best.append(first)
    if not any(each['weighers'] for each in best):
        return None
    scores = [_scores(each) for each in best]
    ran = [part['name'] for part in best[0]['weighers']]
    weighers = [each for each in dict.fromkeys(ran) if any(
        found.get(each) for found in scores)]
    silent = [each for each in ran if each not in weighers]
    named = _largest(weighers, scores)
    pieces = [_pieces(found, named) for found in scores]
    low = max(-sum(min(piece, 0) for piece in each) for each in pieces)
    high = max(sum(max(piece, 0) for piece in each) for each in pieces)
    scale = 1000 / ((low + high) or 1)
    return Weights(
        weighers, named + ([OTHERS] if len(named) < len(weighers) else []),
        silent, [Row(each['host'], each['weight'],
             _parts(piece, low * scale, scale), found)
         for each, piece, found in zip(best, pieces, scores, strict=True)],
        low * scale)


def _scores(host):
    """Return what each weigher gave a host: {name: score}, of finite ones.

    A weigher may be there twice.
    """
    found = {}
    for part in host['weighers']:
        score = part.get('score')
        if score is None:
            score = part['normalized'] * part['multiplier']
        if isinstance(score, int | float) and math.isfinite(score):
            found[part['name']] = found.get(part['name'], 0) + score
    return found


def _largest(weighers, scores):
    """Return the weighers that give most, in their order: list."""
    by_size = sorted(weighers, key=lambda weigher: -max(
        abs(found.get(weigher, 0)) for found in scores))
    return [weigher for weigher in weighers
            if weigher in by_size[:MOST_WEIGHERS]]


def _pieces(scores, named):
    """Return what each weigher gave, and all others together: list."""
    others = sum(score for weigher, score in scores.items()
                 if weigher not in named)
    return [scores.get(weigher, 0) for weigher in named] + [others]


def _parts(pieces, zero, scale):
    left, right, found = zero, zero, []
    for place, score in enumerate(pieces):
        width = abs(score) * scale
        if score < 0:
            left -= width
        if score:
            found.append(Part(place, score, left if score < 0 else right,
                              width))
        if score > 0:
            right += width
    return found
