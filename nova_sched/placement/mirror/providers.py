"""Resource providers in columns, and which of them fit a query."""

import collections
import dataclasses
import itertools
import math
import threading
import time
import typing

import numpy as np
import os_traits

from nova_sched.concurrency import turns
from nova_sched.hosts.labels import Labels
from nova_sched.placement.documents import MOST_HELD

#: What a trait begins with that stands for any of several.
_ANY_OF = 'in:'
#: No capacity, which no amount fits in.
_NONE = -1
#: Aggregates whose members are known, at most.
MOST_AGGREGATES = 1000
#: Seconds for which claims under way are waited for, and between two looks.
PATIENCE, LOOK = 2, 0.02


class Amounts(typing.NamedTuple):
    """What a provider has of one resource class: integers of 64 bits.

    capacity: (total - reserved) * allocation_ratio, cut to a whole number.
    used: by all consumers.
    min_unit, max_unit, step_size: what one consumer may take of it.
    """

    capacity: int
    used: int
    min_unit: int = 1
    max_unit: int = MOST_HELD
    step_size: int = 1


@dataclasses.dataclass(frozen=True)
class Provider:
    """A resource provider, as Placement tells it.

    parent: uuid, or None of the root of a tree.
    amounts: resource class -> Amounts.  traits: frozenset.
    aggregates: frozenset of uuids; None if they were not read.
    limited: whether min_unit, max_unit and step_size were read.
    """

    uuid: str
    generation: int
    parent: str | None
    amounts: dict
    traits: frozenset = frozenset()
    aggregates: frozenset | None = None
    limited: bool = True


#: What a provider has of a class that it does not have.
_MISSING = Amounts(_NONE, 0)
#: How many of Amounts there are, and how many of them change with claims and
#: are told of all providers at once.
_WIDTH, _TOLD = len(_MISSING), 2


class _Column:
    """Amounts of one resource class; its table is int64 (_WIDTH, n)."""

    def __init__(self, size, table=None):
        self.table = (np.repeat(np.array(_MISSING)[:, None], size, axis=1)
                      if table is None else table)
        (self.capacity, self.used, self._min_unit, self._max_unit,
         self._step_size) = self.table

    def resized(self, rows, added):
        """Return one of these rows and so many more."""
        return _Column(0, np.append(
            self.table[:, rows], _Column(added).table, axis=1))

    def put(self, rows, amounts, limited):
        """Write rows; amounts: int64 (n, _WIDTH).

        limited: which of them have their units told: bool (n,).
        """
        self.table[:_TOLD, rows] = amounts[:, :_TOLD].T
        self.table[_TOLD:, rows[limited]] = amounts[limited, _TOLD:].T

    def fits(self, amount):
        """Return where an amount fits: bool (n,)."""
        # Callers may ask for more than a column can hold.
        amount = min(amount, MOST_HELD + 1)
        return ((self.used <= self.capacity - amount)
                & (self._min_unit <= amount) & (amount <= self._max_unit)
                & (amount % self._step_size == 0))

    def has_room(self, row, amount):
        """Return whether an amount more is free in a row."""
        return self.used[row] + amount <= self.capacity[row]


class Providers:
    """All providers of a Placement; safe for threads.

    clock: function that returns seconds, as of SharedAnswers.

    uuids: of the rows, a tuple.
    catch_up: function that takes in what other workers have claimed.

    A provider that is in doubt, because Placement has contradicted what is
    known of it, is not offered until it is put anew.
    """

    def __init__(self, clock=time.monotonic):
        self._clock, self._lock = clock, threading.RLock()
        self.catch_up = lambda: None
        self.uuids, self._rows = (), {}
        self._generations = np.zeros(0, np.int64)
        self._is_root = np.zeros(0, np.bool_)
        self._doubted = np.zeros(0, np.bool_)
        self._limited = np.zeros(0, np.bool_)
        self._traits = Labels.of(())
        self._columns, self._members = {}, {}
        # When a claim of ours on a provider began or ended last, and how many
        # are under way.
        self._touched = np.zeros(0, np.float64)
        self._under_way = np.zeros(0, np.int64)
        # When it was added.
        self._added = np.zeros(0, np.float64)

    def __len__(self):
        return len(self.uuids)

    # What Placement tells.

    def now(self):
        """Return the moment that a reading begins at, for ``put``."""
        return self._clock()

    def put(self, found, since):
        """Take providers as read; return the uuids of those left as they were.

        found: iterable of Provider.  since: ``now()`` of before the reading.
        A provider is left if a claim of ours was under way meanwhile: nobody
        can tell whether the reading has it.
        """
        found = list(found)
        # Claims of other workers that this reading may have.
        self.catch_up()
        amounts = {name: np.array([
            each.amounts.get(name, _MISSING) for each in found])
            for name in {name for each in found for name in each.amounts}}
        limited = np.array([each.limited for each in found], np.bool_)
        with self._lock:
            self._add([each for each in found if each.uuid not in self._rows])
            rows = np.array([self._rows[each.uuid] for each in found],
                            np.int64)
            left = self._are_touched(rows, since)
            taken = np.flatnonzero(~left)
            self._put_amounts(rows, amounts, limited, taken)
            self._put_rest([(int(rows[number]), found[number])
                            for number in taken.tolist()])
            return [found[number].uuid
                    for number in np.flatnonzero(left).tolist()]

    def _are_touched(self, rows, since):
        return (self._under_way[rows] > 0) | (self._touched[rows] > since)

    def _put_amounts(self, rows, amounts, limited, taken):
        """Write those of the providers read that are taken, positions."""
        rows, limited = rows[taken], limited[taken]
        for name in amounts.keys() - self._columns.keys():
            self._columns[name] = _Column(len(self.uuids))
        missing = np.tile(np.array(_MISSING), (len(rows), 1))
        for name, column in self._columns.items():
            column.put(rows, amounts[name][taken] if name in amounts
                       else missing, limited)
        self._limited[rows] |= limited
        self._doubted[rows] = False

    def _put_rest(self, taken):
        """Write what else is read; taken: list of (row, Provider)."""
        values, codes = self._traits.values, self._traits.codes
        changed = {row: provider.traits for row, provider in taken
                   if values[codes[row]] != provider.traits}
        if changed:
            self._traits = self._traits.replaced(changed)
        for row, provider in taken:
            self._generations[row] = provider.generation
            self._is_root[row] = provider.parent is None
            if provider.aggregates is not None:
                for aggregate, members in self._members.items():
                    members[row] = aggregate in provider.aggregates

    def _add(self, providers):
        """Add rows for providers, which have nothing yet."""
        if not providers:
            return
        size, added = len(self.uuids), len(providers)
        self._resize(np.arange(size), added)
        self.uuids = (*self.uuids, *(each.uuid for each in providers))
        self._rows = {uuid: row for row, uuid in enumerate(self.uuids)}
        self._traits = self._traits.with_added(
            [size] * added, [frozenset()] * added)
        self._added[size:] = self._clock()

    def keep(self, uuids, since=math.inf):
        """Forget all providers but these, a set, and those that are newer.

        since: as of ``put``.
        """
        with self._lock:
            newer = (self._added > since).tolist()
            kept = [row for row, uuid in enumerate(self.uuids)
                    if uuid in uuids or newer[row]]
            if len(kept) == len(self.uuids):
                return
            gone = sorted(set(range(len(self.uuids))).difference(kept))
            self._resize(np.array(kept, np.int64), 0)
            self.uuids = tuple(self.uuids[row] for row in kept)
            self._rows = {uuid: row for row, uuid in enumerate(self.uuids)}
            self._traits = self._traits.without(gone)

    def _resize(self, rows, added):
        """Keep these rows, and add empty ones."""
        for name in ('_generations', '_is_root', '_doubted', '_limited',
                     '_touched', '_under_way', '_added'):
            before = getattr(self, name)[rows]
            setattr(self, name, np.append(
                before, np.zeros(added, before.dtype)))
        self._columns = {name: column.resized(rows, added)
                         for name, column in self._columns.items()}
        self._members = {
            aggregate: np.append(members[rows], np.zeros(added, np.bool_))
            for aggregate, members in self._members.items()}

    def put_used(self, uuid, used, since):
        """Take what is used of a provider: whether that was possible.

        used: resource class -> amount.  since: as of ``put``.
        """
        self.catch_up()
        with self._lock:
            row = self._rows.get(uuid)
            if row is None or self._are_touched(row, since):
                return False
            for name, column in self._columns.items():
                column.used[row] = used.get(name, 0)
            return True

    def put_members(self, aggregate, uuids):
        """Take the providers of an aggregate, uuids, as read."""
        with self._lock:
            members = np.zeros(len(self.uuids), np.bool_)
            members[[self._rows[uuid] for uuid in uuids
                     if uuid in self._rows]] = True
            self._members.pop(aggregate, None)
            self._members[aggregate] = members
            while len(self._members) > MOST_AGGREGATES:
                del self._members[next(iter(self._members))]

    def forget_members(self, aggregate=None):
        """Forget who is in an aggregate, by default in any: others change it.
        """
        with self._lock:
            if aggregate is None:
                self._members = {}
            self._members.pop(aggregate, None)

    def differing(self, generations):
        """Return uuids of providers that are unknown or have changed: list.

        generations: uuid -> generation, of all providers.
        """
        with self._lock:
            known = dict(zip(self.uuids, self._generations.tolist(),
                             strict=True))
            return [uuid for uuid, generation in generations.items()
                    if known.get(uuid) != generation]

    def unknown(self, uuids):
        """Return those of uuids that no provider has: set."""
        with self._lock:
            return set(uuids) - self._rows.keys()

    def lacking(self, uuids):
        """Return those of uuids that no provider with an inventory has: list.
        """
        with self._lock:
            has_any = np.zeros(len(self.uuids), np.bool_)
            for column in self._columns.values():
                has_any |= column.capacity != _NONE
            having = set(itertools.compress(self.uuids, has_any.tolist()))
        return [uuid for uuid in uuids if uuid not in having]

    def without_limits(self):
        """Return the uuids of which only amounts were read: list."""
        with self._lock:
            return [self.uuids[row]
                    for row in np.flatnonzero(~self._limited).tolist()]

    @property
    def oldest_aggregate(self):
        """The aggregate whose members were read first; None if none were."""
        with self._lock:
            return next(iter(self._members), None)

    def without_members(self, query):
        """Return the aggregates of a query whose members are not known: set.
        """
        with self._lock:
            return _aggregates(query) - self._members.keys()

    # What claims of this service do, by the entries of its ledger.

    def assume(self, amounts):
        """Take amounts that are about to be claimed.

        amounts: provider uuid -> resource class -> amount.  Followed by
        ``claimed`` or ``forget``.
        """
        with self._lock:
            for row, wanted in self._known(amounts):
                self._use(row, wanted)
                self._under_way[row] += 1

    def claimed(self, amounts):
        """Note that Placement has granted what was assumed."""
        with self._lock:
            for row, _ in self._known(amounts):
                self._finish(row)

    def written(self, writes):
        """Note that requests have changed what is held of providers.

        writes: provider uuid -> how many.  Each raises the generation by one,
            of however many consumers it is; a DELETE does not.
        """
        with self._lock:
            for row, count in self._known(writes):
                self._generations[row] += count

    def forget(self, amounts):
        """Free what was assumed: it is not claimed."""
        with self._lock:
            for row, wanted in self._known(amounts):
                self._finish(row)
                self._use(row, wanted, -1)

    def doubt(self, uuids):
        """Offer providers no more until they are put anew."""
        with self._lock:
            for row, _ in self._known(dict.fromkeys(uuids)):
                self._doubted[row] = True

    def room(self):
        """Return the Room of one view."""
        return Room(self)

    def has_room(self, amounts, listed_at=None):
        """Return whether amounts are free, as of ``assume``.

        listed_at: ``now`` before Placement listed them as free: they are,
            where no claim of ours was under way then or since.
        """
        with self._lock:
            return all((listed_at is not None
                        and not self._are_touched(row, listed_at))
                       or self._is_free(row, wanted)
                       for row, wanted in self._known(amounts))

    def are_under_way(self, uuids):
        """Return whether claims of ours on some of the providers are."""
        self.catch_up()
        with self._lock:
            return any(self._under_way[row]
                       for row, _ in self._known(dict.fromkeys(uuids)))

    def _is_free(self, row, wanted):
        return not self._doubted[row] and all(
            name in self._columns
            and self._columns[name].has_room(row, amount)
            for name, amount in wanted.items())

    def _known(self, amounts):
        return [(self._rows[uuid], wanted) for uuid, wanted
                in amounts.items() if uuid in self._rows]

    def _use(self, row, wanted, sign=1):
        for name, amount in wanted.items():
            if name in self._columns:
                self._columns[name].used[row] += sign * amount
        self._touched[row] = self._clock()

    def _finish(self, row):
        # A row that was put anew under the same uuid has nothing under way.
        self._under_way[row] = max(0, self._under_way[row] - 1)
        self._touched[row] = self._clock()

    # What requests ask.

    def matching(self, query):
        """Return uuid -> row, and which rows fit a query: bool (n,).

        query: scheduler.utils.ResourceRequest.
        None in place of the latter if only Placement can tell.  Nobody
        changes the former; it is another one after providers came or went.
        """
        with self._lock:
            return self._rows, self._matching(query)

    def _matching(self, query):
        group = query.groups['']
        required = group.required | query.root_required
        forbidden = group.forbidden | query.root_forbidden
        if (len(query.groups) > 1 or query.same_subtree
                or not group.resources
                or not group.resources.keys() <= self._columns.keys()
                or not _aggregates(query) <= self._members.keys()
                or self._unknown(forbidden)
                or self._elsewhere(group.resources)):
            return None
        fits = self._is_root & ~self._doubted
        for name, amount in group.resources.items():
            fits &= self._columns[name].fits(amount)
        fits &= self._by_traits(
            lambda traits: not traits & forbidden and _has(traits, required))
        for aggregates in group.member_of:
            fits &= self._in_any(aggregates)
        fits &= ~self._in_any(group.forbidden_aggregates)
        if group.in_tree is not None:
            return self._in_tree(fits, group.in_tree)
        return fits

    def _in_tree(self, fits, uuid):
        row = self._rows.get(uuid)
        if row is None or not self._is_root[row]:
            return None
        alone = np.zeros(len(fits), np.bool_)
        alone[row] = fits[row]
        return alone

    def _unknown(self, traits):
        """Return whether Placement may not know some of the traits.

        It refuses a query that names one.
        """
        missing = traits - _STANDARD_TRAITS
        return bool(missing) and not missing <= frozenset().union(
            *self._traits.values)

    def _elsewhere(self, resources):
        """Return whether a candidate may be made of several providers."""
        others = ~self._is_root | self._by_traits(
            lambda traits: os_traits.MISC_SHARES_VIA_AGGREGATE in traits)
        return bool(others.any()) and any(
            (self._columns[name].capacity[others] != _NONE).any()
            for name in resources)

    def _by_traits(self, judge):
        """Return ``judge`` of the traits of each row: bool (n,)."""
        codes = self._traits.codes
        verdicts = np.zeros(len(self._traits.values), np.bool_)
        for code in np.unique(codes).tolist():
            verdicts[code] = judge(self._traits.values[code])
        return verdicts[codes]

    def _in_any(self, aggregates):
        found = np.zeros(len(self.uuids), np.bool_)
        for aggregate in aggregates:
            found |= self._members[aggregate]
        return found


class Room:
    """What Providers have free, less what one request takes on a view.

    outdated: the providers that were listed as free and are taken since.
    """

    def __init__(self, providers):
        self._providers, self._taken = providers, collections.Counter()
        self.outdated = set()

    def take(self, amounts, listed_at=None):
        """Take amounts; return whether they are free.

        amounts: provider uuid -> resource class -> amount.
        listed_at: as of ``Providers.has_room``.
        """
        if not self._providers.has_room({
                uuid: {name: amount + self._taken[uuid, name]
                       for name, amount in wanted.items()}
                for uuid, wanted in amounts.items()}, listed_at):
            if listed_at is not None:
                self.outdated |= amounts.keys()
            return False
        for uuid, wanted in amounts.items():
            for name, amount in wanted.items():
                self._taken[uuid, name] += amount
        return True

    def wait(self):
        """Wait a moment for the claims that what is outdated is taken by."""
        end = time.monotonic() + PATIENCE
        while (self._providers.are_under_way(self.outdated)
               and time.monotonic() < end):
            with turns.waiting():
                time.sleep(LOOK)


_STANDARD_TRAITS = frozenset(os_traits.get_traits())


def _aggregates(query):
    """Return the aggregates that a query names: set of uuids."""
    return {aggregate for group in query.groups.values()
            for aggregates in (*group.member_of, group.forbidden_aggregates)
            for aggregate in aggregates}


def _has(traits, required):
    """Return whether required traits are there, ``in:`` being any of some."""
    return all(
        trait in traits if not trait.startswith(_ANY_OF)
        else traits.intersection(trait.removeprefix(_ANY_OF).split(','))
        for trait in required)
