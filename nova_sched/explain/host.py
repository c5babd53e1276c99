"""Why a host is not picked: the rules that reject it, and its weight."""

import dataclasses
import typing

import numpy as np

from nova_sched import filters
from nova_sched import weights
from nova_sched.explain import matrix as matrices
from nova_sched.explain import words
from nova_sched.rules import narrowing
from nova_sched.rules import phrases

_REASONS = {
    matrices.OFFERED: 'Placement does not offer it',
    matrices.TOGETHER: 'it passes each filter alone, but not all of them on '
                       'what those before leave',
    matrices.REFUSED: 'Placement refuses to claim it'}


class Verdict(typing.NamedTuple):
    """A rule that rejects a host.

    reason: in the rule's words; '' if it has none.
    figures: list of rules.figures.Figure, of the amounts that the host lacks.
    code: by which it rejects the host.
    """

    rule: str
    reason: str
    figures: list
    code: str

    def to_dict(self):
        return {'rule': self.rule, 'code': self.code, 'reason': self.reason,
                'figures': [figure.to_dict() for figure in self.figures]}

    @property
    def words(self):
        """The figures, or without figures the reason; '' if there is none."""
        return '; '.join(map(str, self.figures)) or self.reason

    def __str__(self):
        return f'{self.rule} rejects it' + (
            f': {self.words}' if self.words else '')


class WeigherGap(typing.NamedTuple):
    """The scores that one weigher gives a host and the picked host.

    score, picked: multiplier * normalized value.
    """

    weigher: str
    score: float
    picked: float

    @property
    def gain(self):
        """How much more the host scores than the picked one; below 0 if less.
        """
        return self.score - self.picked

    def to_dict(self):
        return {'weigher': self.weigher, 'score': words.number(self.score),
                'picked_score': words.number(self.picked),
                'gain': words.number(self.gain)}


@dataclasses.dataclass(frozen=True)
class WhyNot:
    """Why one host does not get an instance.

    host: its name.  verdicts: list of Verdict, in the order of rules; empty if
        it fits.
    rank: its rank among the hosts that fit, from 1, or the rank that it would
        have if it fitted; equal hosts share a rank.
    among: number of these hosts, with it.
    picked: name of the picked host; None if no host fits.
    gaps: list of WeigherGap, in the order of weighers; empty without two
        hosts.
    error: why the hosts could not be weighed, or ''.
    """

    host: str
    verdicts: list
    rank: int | None
    among: int
    picked: str | None
    gaps: list
    error: str = ''

    @property
    def fits(self):
        return not self.verdicts

    def to_dict(self):
        """Return it as plain JSON."""
        return {
            'host': self.host, 'fits': self.fits,
            'rejected_by': [part.to_dict() for part in self.verdicts],
            'rank': self.rank, 'among': self.among, 'picked': self.picked,
            'weighers': [part.to_dict() for part in self.gaps],
            'error': self.error}

    def sentences(self):
        """Return it in a few lines: list."""
        lines = [f'{self.host} fits' if self.fits else
                 f'{self.host} does not fit: ' + (
                     words.counted(len(self.verdicts), 'rule')),
                 *map(str, self.verdicts)]
        if self.error:
            return [*lines, f'the hosts cannot be weighed: {self.error}']
        if self.rank is not None:
            verb = 'is' if self.fits else 'would be'
            lines.append(f'it {verb} number {self.rank} of {self.among} host'
                         + (' that fits' if self.among == 1
                            else 's that fit'))
        return lines + self._weighing()

    def _weighing(self):
        if self.picked in (None, self.host):
            return []
        lines = []
        for verb, sign in (('kept below', -1), ('gains over', 1)):
            gains = [f'{gap.weigher} ({words.weight(gap.gain, "+")})'
                     for gap in sorted(self.gaps, key=lambda gap: -abs(
                         gap.gain)) if gap.gain * sign > 0]
            if gains:
                lines.append(f'{verb} {self.picked} by '
                             f'{words.joined(gains[:phrases.GROUPS])}')
        return lines


def why_not(matrix, row, picked=None):
    """Return why a host does not get the instance: WhyNot.

    matrix: matrix.Matrix.  row: of the host.
    picked: row of the picked host; by default the best host that fits.
    A host that does not fit is weighed together with the hosts that fit.
    """
    return WhyNot(matrix.name(row), verdicts(matrix, row),
                  *_weighing(matrix, row, picked))


def verdicts(matrix, row):
    """Return the verdicts of the rules that reject a host: list of Verdict."""
    return [_verdict(matrix, i, row)
            for i in np.flatnonzero(matrix.rejected[:, row]).tolist()]


def _verdict(matrix, i, row):
    name, filter_ = matrix.rules[i], matrix.judges[i]
    code = next(iter(matrix.codes(i, np.array([row]))))
    if filter_ is None:
        return Verdict(name, _REASONS.get(name) or narrowing.reason(
            name, matrix.spec_obj), [], code)
    hosts, spec_obj = matrix.hosts.copy(), matrix.spec_obj
    try:
        reason = filters.why_not(filter_, hosts.state(row), spec_obj)
        figures = [figure.of(0) for figure in filter_.figures(
            hosts.block(np.array([row])), spec_obj)]
    except Exception as error:
        if getattr(error, 'is_budget_spent', False):
            raise
        # The verdict stands without a reason.
        return Verdict(name, f'it cannot say why: {error!r}', [], code)
    return Verdict(name, reason, [
        figure for figure in figures if figure and not figure.suffices], code)


def weigh(matrix, rows):
    """Return the weights of hosts: weights.Weighed.

    rows: int (n,).  Raises the errors of a weigher.
    """
    return weights.weigh(
        matrix.ranker.weighers, matrix.hosts.copy().block(rows),
        matrix.spec_obj)


def _weighing(matrix, row, picked):
    """Return rank, among, picked, gaps and error of a WhyNot."""
    fitting = matrix.fitting
    rows = np.union1d(fitting, [row] if picked is None else [row, picked])
    try:
        if picked is None and len(fitting):
            picked = weigh(matrix, fitting).rows.item(0)
        weighed = weigh(matrix, rows)
    except Exception as error:
        if getattr(error, 'is_budget_spent', False):
            raise
        return (None, len(rows), None if picked is None
                else matrix.name(picked), [], repr(error))
    if picked is None:
        return 1, 1, None, [], ''
    # Hosts without a weight rank last.
    values = np.nan_to_num(weighed.values, nan=-np.inf, posinf=np.inf,
                           neginf=-np.inf)
    places = [weighed.position(place) for place in (row, picked)]
    rank = 1 + int((values > values[places[0]]).sum())
    with weights.unbounded():
        scores = np.prod(weighed.parts(places)[..., 1:], axis=2).tolist()
    gaps = [WeigherGap(*gap) for gap in zip(weighed.names, *scores,
                                            strict=True)]
    return rank, len(rows), matrix.name(picked), gaps, ''
