"""Why a host is picked: the weighers that make it the first."""

import dataclasses
import typing

import numpy as np

from nova_sched import weights
from nova_sched.explain import words
from nova_sched.explain.host import weigh
from nova_sched.rules import phrases


class Part(typing.NamedTuple):
    """The part of one weigher in the gap between the pick and the next host.

    adds: multiplier * normalized value of the pick, minus that of the next
        host; below 0 the weigher is against the pick.
    first_without: name of the host that would be first without the weigher;
        None if it is the pick.
    """

    weigher: str
    adds: float
    first_without: str | None

    def to_dict(self):
        """Return it as plain JSON."""
        return self._asdict() | {'adds': words.number(self.adds)}


@dataclasses.dataclass(frozen=True)
class WhyPick:
    """Why a host is picked.

    host: its name.  fitting: how many hosts fit.
    tied: how many hosts are as good, with it: hosts of the same weight, and
        hosts that the selector treats as equal.
    is_drawn: whether the selector draws one of them; else the first in table
        order is picked.
    next_host: name of the best host that weighs less; None if there is none.
    gap: how much less that host weighs.
    parts: list of Part, in the order of weighers; empty without a next host.
    is_mapped: whether the host has a cell mapping.
    """

    host: str
    fitting: int
    tied: int
    is_drawn: bool
    next_host: str | None
    gap: float
    parts: list
    is_mapped: bool = True

    def to_dict(self):
        """Return it as plain JSON."""
        return {'host': self.host, 'fitting': self.fitting,
                'tied': self.tied, 'drawn': self.is_drawn,
                'next': self.next_host, 'gap': words.number(self.gap),
                'weighers': [part.to_dict() for part in self.parts],
                'mapped': self.is_mapped}

    def sentences(self):
        """Return the explanation in one line, and a warning about the host:
        list.
        """
        return ['; '.join([self._because(), *self._others()]),
                *([] if self.is_mapped else [
                    f'no cell mapping leads to {self.host}: nova-conductor '
                    'does not build there; run nova-manage cell_v2 '
                    'discover_hosts'])]

    def _because(self):
        if self.fitting == 1:
            return f'{self.host} is the only host that fits'
        if self.next_host is None:
            return f'{self.host} weighs as much as all hosts that fit'
        strongest = self._sorted(1)[:phrases.GROUPS]
        if not strongest:
            return f'{self.host} is first'
        of_gap = f' of a gap of {words.weight(self.gap)} to {self.next_host}'
        return f'{self.host} is first because of ' + words.joined([
            f'{part.weigher} ({words.weight(part.adds, "+")}'
            f'{of_gap if not i else ""})' for i, part in enumerate(strongest)])

    def _others(self):
        opposed = [part.weigher for part in self._sorted(-1)]
        if opposed:
            yield f'{words.joined(opposed[:phrases.GROUPS])} opposed'
        for part in self.parts:
            if part.first_without is not None:
                yield (f'without {part.weigher} {part.first_without} would '
                       'be first')
        if self.tied > 1:
            yield f'tie of {self.tied}, ' + (
                'drawn by seed' if self.is_drawn else 'first in their order')

    def _sorted(self, sign):
        """Return the parts for the pick (1) or against it (-1), largest first:
        list.
        """
        return sorted((part for part in self.parts if part.adds * sign > 0),
                      key=lambda part: -abs(part.adds))


def why_pick(matrix, picked=None, selector=None):
    """Return why a host is picked: WhyPick; None if no host fits.

    matrix: matrix.Matrix.
    picked: row of the picked host; by default the first one by weight.
    selector: scheduler.attempt.HostSelector; by default hosts are taken in the
        order of weight.
    Raises the errors of a weigher.
    """
    rows = matrix.fitting
    if not len(rows):
        return None
    weighed = weigh(matrix, rows)
    values, order = weighed.values, weighed.order
    at = order.item(0) if picked is None else weighed.position(picked)
    drawn, tied = _tied(weighed, at, selector)
    count, lighter = int(tied.sum()), order[(values < values[at])[order]
                                          & ~tied[order]]
    following, gap, parts = None, 0.0, []
    if len(lighter):
        following = matrix.name(rows[lighter[0]])
        gap = (values[at] - values[lighter[0]]).item()
        parts = _parts(matrix, weighed, at, lighter[0])
    unmapped = matrix.hosts.cells.unmapped or ()
    return WhyPick(
        matrix.name(rows[at]), len(rows), count, drawn and count > 1,
        following, gap, parts,
        matrix.hosts.value('host', rows[at]) not in unmapped)


def _tied(weighed, at, selector):
    """Return whether the selector draws, and from which places: bool (n,)."""
    values, best = weighed.values, weighed.values[weighed.order[0]]
    if selector is None or not selector.draws:
        tied = values == values[at]
    elif selector.band is None:
        tied = np.zeros(len(values), dtype=np.bool_)
    else:
        tied = values >= best - selector.band
    draws = selector is not None and selector.draws
    if draws and selector.subset_size > 1:
        tied[weighed.order[:selector.subset_size]] = True
    tied[at] = True
    return draws, tied


def _parts(matrix, weighed, at, other):
    """Return the Parts of the gap between two places: list."""
    parts = []
    with weights.unbounded():
        scores = [multiplier * normalized for multiplier, normalized in zip(
                      weighed.multipliers, weighed.normalized, strict=True)]
        for i, score in enumerate(scores):
            # Added in the order of the weighers, for equal rounding.
            rest = sum(scores[:i] + scores[i + 1:],
                       np.zeros_like(weighed.values))
            order = np.argsort(-rest, kind='stable')
            is_first = bool(rest[at] >= rest[order[0]])
            parts.append(Part(
                weighed.names[i], (score[at] - score[other]).item(),
                None if is_first or np.isnan(rest[at])
                else matrix.name(weighed.table_rows[order[0]])))
    return parts
