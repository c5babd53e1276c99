"""What was decided for one request, and why.

A ``Decision`` is filled while a request is decided.  The error text, the log
line and everything that explains a choice afterwards are made from it.
"""

import dataclasses
import time

import numpy as np
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class FilterStep:
    """One filter run: hosts before and after, for one instance."""

    index: int
    name: str
    before: int
    after: int


@dataclasses.dataclass(frozen=True, slots=True)
class WeigherPart:
    """What one weigher gave the picked host: multiplier * normalized."""

    name: str
    raw: float
    normalized: float
    multiplier: float

    @property
    def score(self):
        return self.multiplier * self.normalized


@dataclasses.dataclass(frozen=True, slots=True)
class Pick:
    """One instance's host, its weight, and the parts the weight is made of."""

    index: int
    host: str
    nodename: str
    weight: float
    parts: tuple


@dataclasses.dataclass
class Decision:
    """The record of one request.

    hosts: how many hosts there were to begin with.
    seed: what the request's random generator was seeded with; the same state,
        request and seed give the same answer.
    steps: every filter run, in order.  picks: one an instance that got a host.
    milliseconds: step name -> time taken.
    refusal: why there was no answer; None for a request that got one.
    """

    request_id: str | None
    instance_uuid: str | None
    instances: int
    seed: int
    hosts: int = 0
    steps: list = dataclasses.field(default_factory=list)
    picks: list = dataclasses.field(default_factory=list)
    alternates: int = 0
    refusal: str | None = None
    milliseconds: dict = dataclasses.field(default_factory=dict)
    _rejected: dict = dataclasses.field(default_factory=dict, repr=False)

    def step(self, index, rule, before, after):
        """Record that a rule left ``after`` of the rows in ``before``.

        rule: a filter, or the name of a step that is none.
        before, after: int arrays of table rows.
        """
        name = rule if isinstance(rule, str) else type(rule).__name__
        self.steps.append(FilterStep(index, name, len(before), len(after)))
        if len(after) < len(before):
            left = np.zeros(before.max() + 1, dtype=np.bool_)
            left[after] = True
            self._rejected.setdefault(rule, []).append(before[~left[before]])

    def rejected(self):
        """Per rule, in the order met: (rule, its name, rejected rows).

        A host rejected for one instance stays out for the later ones, so each
        row stands at one rule only and the counts add up.
        """
        for rule, parts in self._rejected.items():
            name = rule if isinstance(rule, str) else type(rule).__name__
            yield rule, name, np.concatenate(parts)

    def reasons(self, snapshot, spec):
        """Why hosts were rejected: '0 of 20 hosts: 12 RamFilter (...), ...'.

        Most hosts first; equal counts in the order the rules ran.
        """
        counted = []
        for rule, name, rows in self.rejected():
            words = _words(rule, snapshot.block(rows), spec)
            counted.append((len(rows), f'{len(rows)} {name}'
                            + (f' ({words})' if words else '')))
        counted.sort(key=lambda item: -item[0])
        if not self.hosts:
            return 'there are no hosts'
        if not counted:
            return f'none of {self.hosts} hosts was rejected'
        left = self.hosts - sum(count for count, _ in counted)
        return (f'{left} of {self.hosts} hosts: '
                + ', '.join(text for _, text in counted))

    def close(self, refusal=None):
        """Note the outcome, and forget which rows were rejected.

        The table that the rows are of is gone; the counts stay, in ``steps``.
        """
        self.refusal = refusal
        self._rejected.clear()

    def timed(self, name):
        """A context manager that adds its block's time under ``name``."""
        return _Timed(self.milliseconds, name)


def _words(rule, hosts, spec):
    """A filter's reason for the hosts it rejected, or ''."""
    if isinstance(rule, str):
        return ''
    try:
        return rule.reason(hosts, spec)
    except Exception:
        # An answer must not fail over the words for it.
        LOG.exception('%s cannot say why it rejected %d host(s)',
                      type(rule).__name__, len(hosts))
        return ''


class _Timed:
    def __init__(self, milliseconds, name):
        self._milliseconds, self._name = milliseconds, name

    def __enter__(self):
        self._start = time.perf_counter()

    def __exit__(self, *exc_info):
        self._milliseconds[self._name] = round(
            self._milliseconds.get(self._name, 0.0)
            + (time.perf_counter() - self._start) * 1000, 3)
