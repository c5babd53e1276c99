"""Every rule judges every host, not only until the first that rejects it.

``judge`` makes a ``Matrix``:

1. Stages before the filters, one row each: what Placement does not offer a
   host for (``explain.offer``), or without a reason that it tells
   (``OFFERED``), and what the request names (``rules.narrowing``).
2. Each filter is given all hosts, as they are at first.  Where hosts are
   forced no filter is asked, as in the service.
3. Filters may leave something to those after them: the allocation candidates
   that are left of a host, or what a plug-in sets on it.  So the hosts that
   pass each filter alone are put through all of them in their order; a host
   that does not pass stands at ``TOGETHER``.
4. Hosts that Placement would not have claimed when it was asked
   (``REFUSED``).
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
from nova_sched.filters import FilterHandler
from nova_sched.objects import base
from nova_sched.rules import codes
from nova_sched.rules import narrowing
from nova_sched.rules import phrases
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import attempt

#: Stages that are no filter.
EARLIER, OFFERED, TOGETHER, REFUSED = (
    codes.EARLIER, codes.OFFERED, codes.TOGETHER, codes.CLAIMED)

#: How many hosts a rule rejects, and how many no other rule does; the code by
#: which it rejects them, or most of them; and by which code how many, a dict.
RuleCount = collections.namedtuple('RuleCount',
                                   'name rejects alone code codes')

#: Names of rules, and the rows that these rules reject: int (n,).
Combination = collections.namedtuple('Combination', 'rules rows')


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """Which rule rejects which host.

    hosts: HostSnapshot, spec_obj: RequestSpec: as they were judged; nobody
        changes them.
    ranker: rules.ranking.Ranker, whose filters were asked.
    index: which instance of the request it is about.
    rules: names, in order.  judges: the filters beside, or an
        offer.PlacementRule; None of another stage.
    rejected: bool (rules, hosts).
    not_asked: names of the filters that would ask other services.
    errors: name of a filter that failed -> why, text; it has no row.
    is_forced: whether hosts are forced, so that no filter is asked.
    """

    hosts: object
    spec_obj: object
    ranker: object
    index: int
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
        """Return what each rule does, in order: list of RuleCount.

        ``alone``: hosts that would fit if it alone were gone.
        """
        alone = (self.rejected & (self.counts == 1)).sum(axis=1).tolist()
        found = []
        for i, (name, rejects) in enumerate(zip(
                self.rules, self.rejected.sum(axis=1).tolist(), strict=True)):
            by_code = self.codes(i, np.flatnonzero(self.rejected[i]))
            found.append(RuleCount(name, rejects, alone[i], max(
                by_code, key=by_code.get), by_code))
        return found

    def _counted(self, i):
        """Return what a rule of Placement counts on hosts that it rejects:
        text, or '' of another rule.
        """
        counted = getattr(self.judges[i], 'counted', None)
        return counted and counted(self.hosts.block(
            np.flatnonzero(self.rejected[i])))

    def codes(self, i, rows):
        """Return by which code a rule rejects how many of some hosts:
        {code: number}.

        i: place of the rule.  rows: of hosts that it rejects, int (n,).
        """
        name, filter_ = self.rules[i], self.judges[i]
        if filter_ is not None and len(rows):
            with _noted({}, name):
                if found := filter_.codes(self.hosts.block(rows),
                                          self.spec_obj):
                    return found
        return {codes.of_rule(name, filter_): len(rows)}

    def kind(self, kind):
        """Return the kind of a refusal, knowing what all rules say.

        kind: as of rules.refusals; None if it is not known.  A host with room,
            as computes report it, may have none as Placement counts.
        """
        of_amounts = [each.code in codes.OF_AMOUNTS
                      for each in self.by_rule()]
        if kind == codes.FILTERED_OUT and any(of_amounts) and (
                self.rejected[of_amounts].any(axis=0).all()):
            return codes.NO_CAPACITY
        return kind

    def by_host(self, row):
        """Return the names of the rules that reject a host: tuple."""
        return self._named(self.rejected[:, row])

    @functools.cached_property
    def combinations(self):
        """Which rules reject which hosts: list of Combination, most hosts
        first.

        Each host is in one of them; those that fit are under no rule.
        """
        packed = np.packbits(self.rejected, axis=0).T
        if not packed.size:
            rows = np.arange(self.hosts.size)
            return [Combination((), rows)] if len(rows) else []
        whole = np.ascontiguousarray(packed).view(
            np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, group = np.unique(whole, return_index=True,
                                    return_inverse=True)
        rows = np.split(np.argsort(group, kind='stable'),
                        np.cumsum(np.bincount(group))[:-1])
        found = [Combination(self._named(self.rejected[:, at]), of_it)
                 for at, of_it in zip(first.tolist(), rows, strict=True)]
        return sorted(found, key=lambda each: (-len(each.rows), each.rows[0]))

    def _named(self, which):
        return tuple(self.rules[i] for i in np.flatnonzero(which).tolist())

    def name(self, row):
        """Return the name of a host, with its node's if that is another."""
        return words.host([self.hosts.cell(name, row)
                           for name in ('host', 'nodename')])

    def names(self, rows):
        """Return the names of some of the hosts, as examples: list."""
        return heapq.nsmallest(words.EXAMPLES, map(self.name, rows.tolist()),
                               key=phrases.natural)

    def to_dict(self):
        """Return it as plain JSON, with examples of each combination."""
        return {
            'hosts': self.hosts.size, 'fitting': len(self.fitting),
            'instance': self.index, 'forced': self.is_forced,
            'rules': [each._asdict() for each in self.by_rule()],
            'combinations': [
                {'rules': list(names), 'hosts': len(rows),
                 'examples': self.names(rows)}
                for names, rows in self.combinations],
            'not_asked': list(self.not_asked), 'errors': dict(self.errors)}

    def summary(self):
        """Return how many hosts fit, and why the others do not, in a line."""
        total = self.hosts.size
        if not total:
            return 'there are no hosts'
        reasons = [each for each in self.combinations if each.rules]
        told = phrases.groups([
            f'{len(rows)} {words.together(names)}'
            for names, rows in reasons[:phrases.GROUPS]],
            [len(rows) for _, rows in reasons[phrases.GROUPS:]])
        count = len(self.fitting)
        return (f'{words.hosts(count, total)} '
                f'fit{"s" if count == total == 1 else ""}'
                + (f', rejected: {"; ".join(told)}' if told else ''))

    def sentences(self):
        """Return all that is to be said of it in a few lines: list."""
        found = [self.summary()]
        if self.is_forced:
            found.append('the request forces hosts, so no filter is asked')
        reasons = [each for each in self.combinations if each.rules]
        found += [
            f'{words.together(names)}: '
            f'{words.hosts(len(rows), self.hosts.size)}, '
            f'{words.examples(self.names(rows), len(rows))}'
            for names, rows in reasons[:phrases.GROUPS]]
        found += filter(None, map(self._counted, range(len(self.rules))))
        # Without a filter of amounts hosts have no more of them.
        helping = [f'{each.alone} without {each.name}'
                   for each in self.by_rule()
                   if each.alone and each.code not in codes.OF_AMOUNTS]
        if helping:
            found.append(f'would fit besides: {"; ".join(helping)}')
        found += [f'{name} is not asked: it asks other services'
                  for name in self.not_asked]
        found += [f'{name} failed: {error}'
                  for name, error in self.errors.items()]
        return found


def judge(hosts, spec_obj, ranker, index=0, left=None, ask_others=False,
          placement=(), refused=()):
    """Have every rule judge every host: Matrix.

    hosts: HostSnapshot, spec_obj: RequestSpec; neither is changed.
    ranker: rules.ranking.Ranker whose filters are asked.
    index: which instance of the request.
    left: rows of the hosts that the filters left for the instance before, int
        (n,); others are out by ``EARLIER``, for these filters may not be
        asked again.
    ask_others: whether also filters are asked that ask other services.
    placement: list of offer.PlacementRule that hosts are asked about which
        Placement does not offer.
    refused: rows of the hosts that Placement did not grant the instance.

    A filter that judges hosts by the others is given all of them, and not
    those that the filters before it leave.
    Raises InvalidInput when the caller's budget is spent; what a filter
    raises is in ``errors``.
    """
    judged = _Judged(hosts.copy(), private(spec_obj, hosts), ranker)
    if left is not None:
        judged.add(EARLIER, _all_but(hosts.size, left))
    every = judged.hosts.block()
    if hosts.offer.asked:
        judged.ask_placement(placement, _all_but(
            hosts.size, attempt.offered(every, hosts.offer).rows))
    for name, narrowed in narrowing.asked(every, judged.spec_obj):
        judged.add(name, _all_but(hosts.size, narrowed.rows))
    is_forced = narrowing.is_forced(spec_obj)
    # One that is enabled twice is one filter: alone it keeps hosts out.
    asked = [] if is_forced else [
        filter_ for filter_ in {id(each): each for each
                                in ranker.filters}.values()
        if filter_.run_filter_for_index(index)]
    silent = [] if ask_others else [
        filter_ for filter_ in asked
        if rule_inputs.asks_others(filter_, spec_obj)]
    for filter_ in asked:
        if filter_ not in silent:
            judged.ask(filter_)
    judged.ask_together()
    if len(refused):
        judged.add(REFUSED, np.isin(np.arange(hosts.size), refused))
    return Matrix(
        judged.hosts, judged.spec_obj, ranker, index, tuple(judged.rules),
        tuple(judged.judges), np.array(judged.rejected, np.bool_).reshape(
            len(judged.rules), hosts.size),
        tuple(dict.fromkeys(type(filter_).__name__ for filter_ in silent)),
        judged.errors, is_forced)


def private(spec_obj, hosts):
    """Return a copy of a RequestSpec, with its server group complete.

    hosts: HostSnapshot that the group's members are looked up in.
    """
    shown = copy.copy(spec_obj)
    # Of a call: it can do more than be copied.
    shown.__dict__['_context'] = None
    own = base.clone(shown)
    own._context = spec_obj.__dict__.get('_context')
    attempt.complete_group(own, hosts)
    return own


class _Judged:
    """What rules say, one after the other; attributes as of Matrix."""

    def __init__(self, hosts, spec_obj, ranker):
        self.hosts, self.spec_obj = hosts, spec_obj
        # A filter, or what stands on the hosts when it is asked, may be of
        # somebody else, and write to what it is given.
        self._writes = ranker.has_plug_ins or hosts.offer.asked
        self.rules, self.judges, self.rejected = [], [], []
        self.errors = {}

    def add(self, name, rejected, filter_=None):
        """Add a rule that rejects these hosts: bool (hosts,)."""
        self.rules.append(name)
        self.judges.append(filter_)
        self.rejected.append(rejected)

    def ask(self, filter_):
        """Add what a filter says of all hosts."""
        name = type(filter_).__name__
        with _noted(self.errors, name):
            kept = FilterHandler.kept(filter_, self.hosts.copy().block(),
                                      self._request())
            # None: it says to stop, with no host left.
            kept = np.zeros(self.hosts.size) if kept is None else kept
            self.add(name, ~np.asarray(kept, dtype=np.bool_), filter_)

    def ask_placement(self, rules, missing):
        """Add why Placement does not offer hosts: bool (hosts,)."""
        unexplained = missing.copy()
        for rule in rules if missing.any() else ():
            with _noted(self.errors, rule.name):
                rejected = missing & rule.rejected(self.hosts.block())
                if rejected.any():
                    self.add(rule.name, rejected, rule)
                    unexplained &= ~rejected
        self.add(OFFERED, unexplained)

    def ask_together(self):
        """Add which hosts pass each filter alone, but not all in turn."""
        if not self._writes:
            return
        filters = [judge for judge in self.judges
                   if isinstance(judge, BaseFilter)]
        passing = np.flatnonzero(~np.any(self.rejected, axis=0)
                                 if self.rejected
                                 else np.ones(self.hosts.size, np.bool_))
        hosts, request = self.hosts.copy(), self._request()
        with _noted(self.errors, TOGETHER):
            left = passing
            for filter_ in filters:
                if not len(left):
                    break
                kept = FilterHandler.kept(filter_, hosts.block(left), request)
                left = left[:0] if kept is None else left[
                    np.asarray(kept, dtype=np.bool_)]
            if len(left) < len(passing):
                rejected = np.zeros(self.hosts.size, dtype=np.bool_)
                rejected[np.setdiff1d(passing, left)] = True
                self.add(TOGETHER, rejected)

    def _request(self):
        """Return the request for a rule that may write to it: RequestSpec."""
        return (private(self.spec_obj, self.hosts) if self._writes
                else self.spec_obj)


@contextlib.contextmanager
def _noted(errors, name):
    """Note in a dict what a block raises, unless the budget is spent."""
    try:
        yield
    except Exception as error:
        if getattr(error, 'is_budget_spent', False):
            raise
        errors[name] = str(error) or repr(error)


def _all_but(size, rows):
    """Return a mask of all rows but these: bool (size,)."""
    mask = np.ones(size, dtype=np.bool_)
    mask[rows] = False
    return mask
