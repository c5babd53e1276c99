"""The verdict of every rule on every host.

In the service a host is judged until the first rule rejects it.  ``judge``
makes a ``Matrix`` of the verdicts of all rules:

1. Stages before the filters, one row each: the conditions by which Placement
   does not offer a host (``explain.offer``; ``OFFERED`` if none is known), and
   the hosts that the request names (``rules.narrowing``).
2. Each filter judges all hosts in their first state.  With forced hosts no
   filter runs, as in the service.
3. Filters may pass something on to later filters: the remaining allocation
   candidates of a host, or attributes that a plug-in sets.  So the hosts that
   pass each filter alone go through all of them in order; a host that does not
   pass is rejected by ``TOGETHER``.
4. Hosts whose claim Placement refused (``REFUSED``).
"""

import collections
import contextlib
import copy
import dataclasses
import functools
import heapq

import numpy as np

from nova_sched.explain import words
from nova_sched.filters import BaseFilter
from nova_sched.filters import kept
from nova_sched.objects import base
from nova_sched.rules import codes
from nova_sched.rules import narrowing
from nova_sched.rules import phrases
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import attempt

#: Stages that are not filters.
OFFERED, TOGETHER, REFUSED = codes.OFFERED, codes.TOGETHER, codes.CLAIMED

#: name: of a rule.  rejects: how many hosts it rejects.  alone: how many of
#:     them no other rule rejects.  code: with which it rejects most of them.
#:     codes: {code: number of hosts}.
RuleCount = collections.namedtuple('RuleCount',
                                   'name rejects alone code codes')

#: Names of rules, and the rows that exactly these rules reject: int (n,).
Combination = collections.namedtuple('Combination', 'rules rows')


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """Which rule rejects which host.

    hosts: HostSnapshot, spec_obj: RequestSpec, as they were judged; they must
        not change.
    ranker: scheduler.ranking.Ranker with the filters.
    rules: names, in order.  judges: for each rule its filter or
        offer.PlacementRule; None for another stage.
    rejected: bool (rules, hosts).
    not_asked: names of filters left out because they query other services.
    errors: name of a filter that failed -> error text; it has no row.
    is_forced: whether the request forces hosts, so that no filter runs.
    """

    hosts: object
    spec_obj: object
    ranker: object
    rules: tuple
    judges: tuple
    rejected: np.ndarray
    not_asked: tuple = ()
    errors: dict = dataclasses.field(default_factory=dict)
    is_forced: bool = False

    @functools.cached_property
    def counts(self):
        """How many rules reject each host: int (hosts,)."""
        return self.rejected.sum(axis=0)

    @property
    def fitting(self):
        """Rows of the hosts that no rule rejects: int (n,)."""
        return np.flatnonzero(self.counts == 0)

    def by_rule(self):
        """Return the number of hosts that each rule rejects: list of
        RuleCount.
        """
        alone = (self.rejected & (self.counts == 1)).sum(axis=1).tolist()
        counts = []
        for i, (name, rejects) in enumerate(zip(
                self.rules, self.rejected.sum(axis=1).tolist(), strict=True)):
            by_code = self.codes(i, np.flatnonzero(self.rejected[i]))
            counts.append(RuleCount(name, rejects, alone[i], max(
                by_code, key=by_code.get), by_code))
        return counts

    def _counted(self, i):
        """Return Placement's usage of the hosts that a rule of Placement
        rejects: text, often ''; None for other rules.
        """
        counted = getattr(self.judges[i], 'counted', None)
        return counted and counted(self.hosts.block(
            np.flatnonzero(self.rejected[i])))

    def codes(self, i, rows):
        """Return the codes with which a rule rejects some hosts: {code:
        number}.

        i: place of the rule.  rows: of hosts that it rejects, int (n,).
        """
        name, filter_ = self.rules[i], self.judges[i]
        if filter_ is not None and len(rows):
            with _caught({}, name):
                if by_code := filter_.codes(self.hosts.block(rows),
                                          self.spec_obj):
                    return by_code
        return {codes.of_rule(name, filter_): len(rows)}

    def kind(self, kind):
        """Return the kind of a refusal, refined by the verdicts of all rules.

        kind: see scheduler.refusals; None if unknown.  A host may have room by
            its own report, and none by Placement's count.
        """
        of_amounts = [count.code in codes.OF_AMOUNTS
                      for count in self.by_rule()]
        if kind == codes.FILTERED_OUT and any(of_amounts) and (
                self.rejected[of_amounts].any(axis=0).all()):
            return codes.NO_CAPACITY
        return kind

    @functools.cached_property
    def combinations(self):
        """Which rules reject which hosts: list of Combination, most hosts
        first.

        Each host is in one of them; the combination of hosts that fit has no
        rules.
        """
        if not self.hosts.size:
            return []
        _, first, group = np.unique(
            np.packbits(self.rejected, axis=0), axis=1, return_index=True,
            return_inverse=True)
        rows = np.split(np.argsort(group.ravel(), kind='stable'),
                        np.cumsum(np.bincount(group.ravel()))[:-1])
        return sorted(
            map(Combination, map(self._named, self.rejected.T[first]), rows),
            key=lambda combination: (
                -len(combination.rows), combination.rows[0]))

    def _reasons(self):
        """Return the combinations that have rules: list."""
        return [combination for combination in self.combinations
                if combination.rules]

    def _named(self, which):
        return tuple(self.rules[i] for i in np.flatnonzero(which).tolist())

    def name(self, row):
        """Return the name of a host, with its node if that is another name."""
        return words.host(self.hosts.names(row))

    def names(self, rows):
        """Return the names of some hosts, as examples: list."""
        return heapq.nsmallest(words.EXAMPLES, map(self.name, rows.tolist()),
                               key=phrases.natural)

    def to_dict(self):
        """Return it as plain JSON, with examples of each combination."""
        return {
            'hosts': self.hosts.size, 'fitting': len(self.fitting),
            'forced': self.is_forced,
            'rules': [count._asdict() for count in self.by_rule()],
            'combinations': [
                {'rules': list(names), 'hosts': len(rows),
                 'examples': self.names(rows)}
                for names, rows in self.combinations],
            'not_asked': list(self.not_asked), 'errors': dict(self.errors)}

    def summary(self):
        """Return how many hosts fit, and why others do not, in a line."""
        total = self.hosts.size
        if not total:
            return 'there are no hosts'
        reasons = self._reasons()
        listed = phrases.groups([
            f'{len(rows)} {words.together(names)}'
            for names, rows in reasons[:phrases.GROUPS]],
            [len(rows) for _, rows in reasons[phrases.GROUPS:]])
        count = len(self.fitting)
        return (f'{words.hosts(count, total)} '
                f'fit{"s" if count == total == 1 else ""}'
                + (f', rejected: {"; ".join(listed)}' if listed else ''))

    def sentences(self):
        """Return the verdicts in a few lines: list."""
        lines = [self.summary()]
        if self.is_forced:
            lines.append('the request forces hosts, so no filter runs')
        lines += [
            f'{words.together(names)}: '
            f'{words.hosts(len(rows), self.hosts.size)}, '
            f'{words.examples(self.names(rows), len(rows))}'
            for names, rows in self._reasons()[:phrases.GROUPS]]
        lines += filter(None, map(self._counted, range(len(self.rules))))
        # Hosts do not have more room without a filter of amounts.
        helping = [f'{count.alone} without {count.name}'
                   for count in self.by_rule()
                   if count.alone and count.code not in codes.OF_AMOUNTS]
        if helping:
            lines.append(f'would fit besides: {"; ".join(helping)}')
        lines += [f'{name} does not run: it queries other services'
                  for name in self.not_asked]
        lines += [f'{name} failed: {error}'
                  for name, error in self.errors.items()]
        return lines


def judge(hosts, spec_obj, ranker, ask_others=False, placement=(),
          refused=()):
    """Return the verdicts of all rules on all hosts: Matrix.

    hosts: HostSnapshot, spec_obj: RequestSpec; neither is changed.
    ranker: scheduler.ranking.Ranker with the filters.
    ask_others: whether filters that query other services run.
    placement: list of offer.PlacementRule that judge the hosts that Placement
        does not offer.
    refused: rows of the hosts that Placement did not grant the instance.

    A filter that compares hosts with each other is given all hosts, and not
    only the hosts that the filters before it leave.
    Raises InvalidInput when the caller's budget is spent; errors of a filter
    are in ``errors``.
    """
    judged = _Judged(hosts.copy(), private(spec_obj, hosts), ranker)
    every = judged.hosts.block()
    if hosts.offer.is_used:
        judged.add_placement(placement, _all_but(
            hosts.size, attempt.offered(every, hosts.offer).rows))
    for name, narrowed in narrowing.applicable(every, judged.spec_obj):
        judged.add(name, _all_but(hosts.size, narrowed.rows))
    is_forced = narrowing.is_forced(spec_obj)
    # A filter that is enabled twice is judged once.
    enabled = [] if is_forced else [
        filter_ for filter_ in {id(filter_obj): filter_obj for filter_obj
                                in ranker.filters}.values()
        if filter_.run_filter_for_index(0)]
    skipped = [] if ask_others else [
        filter_ for filter_ in enabled
        if rule_inputs.asks_others(filter_, spec_obj)]
    for filter_ in enabled:
        if filter_ not in skipped:
            judged.add_filter(filter_)
    judged.add_together()
    if len(refused):
        judged.add(REFUSED, np.isin(np.arange(hosts.size), refused))
    return Matrix(
        judged.hosts, judged.spec_obj, ranker, tuple(judged.rules),
        tuple(judged.judges), np.array(judged.rejected, np.bool_).reshape(
            len(judged.rules), hosts.size),
        tuple(dict.fromkeys(type(filter_).__name__ for filter_ in skipped)),
        judged.errors, is_forced)


def private(spec_obj, hosts):
    """Return a copy of a RequestSpec, with its server group complete.

    hosts: HostSnapshot in which the group's members are looked up.
    """
    shallow = copy.copy(spec_obj)
    # The context of a call may hold objects that cannot be copied.
    shallow.__dict__['_context'] = None
    copied = base.clone(shallow)
    copied._context = spec_obj.__dict__.get('_context')
    attempt.complete_group(copied, hosts)
    return copied


class _Judged:
    """The verdicts of the rules so far; attributes as in Matrix."""

    def __init__(self, hosts, spec_obj, ranker):
        self.hosts, self.spec_obj = hosts, spec_obj
        # A plug-in may write to its arguments, and so does every filter that
        # reduces allocation candidates.
        self._writes = ranker.has_plug_ins or hosts.offer.is_used
        self.rules, self.judges, self.rejected = [], [], []
        self.errors = {}

    def add(self, name, rejected, filter_=None):
        """Add a rule that rejects these hosts: bool (hosts,)."""
        self.rules.append(name)
        self.judges.append(filter_)
        self.rejected.append(rejected)

    def add_filter(self, filter_):
        """Add the verdicts of a filter on all hosts."""
        name = type(filter_).__name__
        with _caught(self.errors, name):
            passes = kept(filter_, self.hosts.copy().block(),
                          self._request())
            # None means that the filter ends the run without a host.
            passes = np.zeros(self.hosts.size) if passes is None else passes
            self.add(name, ~np.asarray(passes, dtype=np.bool_), filter_)

    def add_placement(self, rules, missing):
        """Add the conditions by which Placement does not offer hosts.

        missing: which hosts it does not offer, bool (hosts,).
        """
        unexplained = missing.copy()
        for rule in rules if missing.any() else ():
            with _caught(self.errors, rule.name):
                rejected = missing & rule.rejected(self.hosts.block())
                if rejected.any():
                    self.add(rule.name, rejected, rule)
                    unexplained &= ~rejected
        self.add(OFFERED, unexplained)

    def add_together(self):
        """Add the hosts that pass each filter alone, but not all in turn."""
        if not self._writes:
            return
        filters = [judge for judge in self.judges
                   if isinstance(judge, BaseFilter)]
        passing = np.flatnonzero(~np.any(self.rejected, axis=0)
                                 if self.rejected
                                 else np.ones(self.hosts.size, np.bool_))
        hosts, request = self.hosts.copy(), self._request()
        with _caught(self.errors, TOGETHER):
            remaining = passing
            for filter_ in filters:
                if not len(remaining):
                    break
                passes = kept(filter_, hosts.block(remaining), request)
                remaining = remaining[:0] if passes is None else remaining[
                    np.asarray(passes, dtype=np.bool_)]
            if len(remaining) < len(passing):
                rejected = np.zeros(self.hosts.size, dtype=np.bool_)
                rejected[np.setdiff1d(passing, remaining)] = True
                self.add(TOGETHER, rejected)

    def _request(self):
        """Return the request for a rule, which may write to it: RequestSpec.
        """
        return (private(self.spec_obj, self.hosts) if self._writes
                else self.spec_obj)


@contextlib.contextmanager
def _caught(errors, name):
    """Store the error of a block in a dict, unless the budget is spent."""
    try:
        yield
    except Exception as error:
        if getattr(error, 'is_budget_spent', False):
            raise
        errors[name] = str(error) or repr(error)


def _all_but(size, rows):
    """Return a mask of all rows except these: bool (size,)."""
    mask = np.ones(size, dtype=np.bool_)
    mask[rows] = False
    return mask
