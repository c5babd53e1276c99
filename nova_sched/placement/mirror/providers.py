"""Resource providers in columns, and which of them fit a query."""

import collections
import copy
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

#: Prefix of a required trait that stands for any of several traits.
_ANY_OF = 'in:'
#: Capacity of a resource class without inventory; no amount fits.
_NONE = -1
#: Maximum number of aggregates with known members.
MOST_AGGREGATES = 1000
#: Seconds to wait for claims under way, and between two checks.
PATIENCE, LOOK = 2, 0.02


class Amounts(typing.NamedTuple):
    """A provider's amounts of one resource class, as 64-bit integers.

    capacity: (total - reserved) * allocation_ratio, without fraction.
    used: by all consumers.
    min_unit, max_unit, step_size: limits of one consumer.
    """

    capacity: int
    used: int
    min_unit: int = 1
    max_unit: int = MOST_HELD
    step_size: int = 1


@dataclasses.dataclass(frozen=True)
class Provider:
    """A resource provider of Placement.

    parent: uuid, or None for the root of a tree.
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


#: Amounts of a resource class without inventory.
_MISSING = Amounts(_NONE, 0)
#: Number of fields of Amounts; number of its first fields that a listing of
#: candidates contains.
_WIDTH, _LISTED = len(_MISSING), 2


class _Column:
    """Amounts of one resource class; its table is int64 (_WIDTH, n)."""

    def __init__(self, size, table=None):
        self.table = (np.repeat(np.array(_MISSING)[:, None], size, axis=1)
                      if table is None else table)
        (self.capacity, self.used, self._min_unit, self._max_unit,
         self._step_size) = self.table

    def resized(self, rows, added):
        """Return a column of these rows and a number of new rows."""
        return _Column(0, np.append(
            self.table[:, rows], _Column(added).table, axis=1))

    def put(self, rows, amounts, limited):
        """Write rows; amounts: int64 (n, _WIDTH).

        limited: rows whose min_unit, max_unit and step_size were read:
            bool (n,).
        """
        self.table[:_LISTED, rows] = amounts[:, :_LISTED].T
        self.table[_LISTED:, rows[limited]] = amounts[limited, _LISTED:].T

    def fits(self, amount):
        """Return where an amount fits: bool (n,)."""
        # Callers may request more than a column can hold.
        amount = min(amount, MOST_HELD + 1)
        return ((self.used <= self.capacity - amount)
                & (self._min_unit <= amount) & (amount <= self._max_unit)
                & (amount % self._step_size == 0))

    def times(self, amount):
        """Return how many claims of an amount each row grants: int64 (n,)."""
        return np.where(self.fits(amount),
                        (self.capacity - self.used) // amount, 0)

    def has_room(self, row, amount):
        """Return whether a row has room for an amount."""
        return self.used[row] + amount <= self.capacity[row]


class Providers:
    """All providers of a Placement; safe for threads.

    clock: function that returns seconds, see SharedResponses.

    uuids: of the rows, a tuple.
    catch_up: function that applies the news of other workers.

    An invalid provider, whose data Placement has contradicted, is no candidate
    until it is read again.
    """

    def __init__(self, clock=time.monotonic):
        self._clock, self._lock = clock, threading.RLock()
        self.catch_up = lambda: None
        self.uuids, self._rows = (), {}
        self._generations = np.zeros(0, np.int64)
        self._is_root, self._invalid, self._limited = np.zeros((3, 0), bool)
        self._traits = Labels.of(())
        self._columns, self._members = {}, {}
        # When a claim of this service on a provider last began or ended, and
        # the number of claims under way.
        self._touched = np.zeros(0, np.float64)
        self._under_way = np.zeros(0, np.int64)
        # When the provider was added.
        self._added = np.zeros(0, np.float64)

    # Data of Placement.

    def now(self):
        """Return the moment at which a read begins, for ``put``."""
        return self._clock()

    def put(self, providers, since):
        """Store providers as read; return the skipped uuids: list.

        providers: iterable of Provider.  since: ``now()`` before the read.
        A provider is skipped if a claim of this service was under way during
        the read: it is unknown whether the read includes it.
        """
        providers = list(providers)
        # The read may include claims of other workers.
        self.catch_up()
        amounts = {name: np.array([
            item.amounts.get(name, _MISSING) for item in providers])
            for name in {name for item in providers for name in item.amounts}}
        limited = np.array([item.limited for item in providers], np.bool_)
        with self._lock:
            self._add([item for item in providers
                       if item.uuid not in self._rows])
            rows = np.array([self._rows[item.uuid] for item in providers],
                            np.int64)
            skipped = self._are_touched(rows, since)
            taken = np.flatnonzero(~skipped)
            self._put_amounts(rows, amounts, limited, taken)
            self._put_rest([(int(rows[number]), providers[number])
                            for number in taken.tolist()])
            return [providers[number].uuid
                    for number in np.flatnonzero(skipped).tolist()]

    def _are_touched(self, rows, since):
        return (self._under_way[rows] > 0) | (self._touched[rows] > since)

    def _put_amounts(self, rows, amounts, limited, taken):
        """Write the amounts of providers; taken: positions to write."""
        rows, limited = rows[taken], limited[taken]
        for name in amounts.keys() - self._columns.keys():
            self._columns[name] = _Column(len(self.uuids))
        missing = np.tile(np.array(_MISSING), (len(rows), 1))
        for name, column in self._columns.items():
            column.put(rows, amounts[name][taken] if name in amounts
                       else missing, limited)
        self._limited[rows] |= limited
        self._invalid[rows] = False

    def _put_rest(self, taken):
        """Write other data; taken: list of (row, Provider)."""
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
        """Add empty rows for providers."""
        if not providers:
            return
        size, added = len(self.uuids), len(providers)
        self._resize(np.arange(size), added)
        self.uuids = (*self.uuids, *(item.uuid for item in providers))
        self._rows = {uuid: row for row, uuid in enumerate(self.uuids)}
        self._traits = self._traits.with_added(
            [size] * added, [frozenset()] * added)
        self._added[size:] = self._clock()

    def keep(self, uuids, since=math.inf):
        """Remove providers, except a set of uuids and newer providers.

        since: as for ``put``.
        """
        with self._lock:
            newer = (self._added > since).tolist()
            remaining = [row for row, uuid in enumerate(self.uuids)
                         if uuid in uuids or newer[row]]
            if len(remaining) == len(self.uuids):
                return
            removed = sorted(set(range(len(self.uuids))).difference(remaining))
            self._resize(np.array(remaining, np.int64), 0)
            self.uuids = tuple(self.uuids[row] for row in remaining)
            self._rows = {uuid: row for row, uuid in enumerate(self.uuids)}
            self._traits = self._traits.without(removed)

    def _resize(self, rows, added):
        """Keep these rows, and add empty rows."""
        for name in ('_generations', '_is_root', '_invalid', '_limited',
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
        """Set the usage of a provider; return whether that was possible.

        used: resource class -> amount.  since: as for ``put``.
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
        """Set the members of an aggregate, uuids."""
        with self._lock:
            members = np.zeros(len(self.uuids), np.bool_)
            members[[self._rows[uuid] for uuid in uuids
                     if uuid in self._rows]] = True
            self._members.pop(aggregate, None)
            self._members[aggregate] = members
            while len(self._members) > MOST_AGGREGATES:
                del self._members[next(iter(self._members))]

    def forget_members(self, aggregate=None):
        """Forget the members of one aggregate, by default of all."""
        with self._lock:
            if aggregate is None:
                self._members = {}
            self._members.pop(aggregate, None)

    def differing(self, generations):
        """Return the uuids of new and changed providers: list.

        generations: uuid -> generation, of all providers.
        """
        with self._lock:
            known = dict(zip(self.uuids, self._generations.tolist(),
                             strict=True))
            return [uuid for uuid, generation in generations.items()
                    if known.get(uuid) != generation]

    def unknown(self, uuids):
        """Return the uuids that no provider has: set."""
        with self._lock:
            return set(uuids) - self._rows.keys()

    def lacking(self, uuids):
        """Return the uuids that no provider with inventory has: list."""
        with self._lock:
            has_any = np.zeros(len(self.uuids), np.bool_)
            for column in self._columns.values():
                has_any |= column.capacity != _NONE
            having = set(itertools.compress(self.uuids, has_any.tolist()))
        return [uuid for uuid in uuids if uuid not in having]

    def without_limits(self):
        """Return the uuids of providers whose limits were not read: list."""
        with self._lock:
            return [self.uuids[row]
                    for row in np.flatnonzero(~self._limited).tolist()]

    @property
    def oldest_aggregate(self):
        """The aggregate with the oldest list of members, or None."""
        with self._lock:
            return next(iter(self._members), None)

    def without_members(self, query):
        """Return the aggregates of a query with unknown members: set."""
        with self._lock:
            return _aggregates(query) - self._members.keys()

    # Claims of this service, as entries of its ledger.

    def assume(self, amounts):
        """Count amounts that will be claimed.

        amounts: provider uuid -> resource class -> amount.
        A call of ``claimed`` or ``forget`` must follow.
        """
        with self._lock:
            for row, resources in self._known(amounts):
                self._use(row, resources)
                self._under_way[row] += 1

    def claimed(self, amounts):
        """Record that Placement has granted an assumed claim."""
        with self._lock:
            for row, _ in self._known(amounts):
                self._finish(row)

    def written(self, writes):
        """Count requests that have changed the allocations of providers.

        writes: provider uuid -> number of requests.  Each request raises the
            generation by one, with any number of consumers, except a DELETE.
        """
        with self._lock:
            for row, count in self._known(writes):
                self._generations[row] += count

    def forget(self, amounts):
        """Release the amounts of an assumed claim."""
        with self._lock:
            for row, resources in self._known(amounts):
                self._finish(row)
                self._use(row, resources, -1)

    def invalidate(self, uuids):
        """Exclude providers until they are read again."""
        with self._lock:
            for row, _ in self._known(dict.fromkeys(uuids)):
                self._invalid[row] = True

    def room(self):
        """Return the Room for one view."""
        return Room(self)

    def has_room(self, amounts, listed_at=None):
        """Return whether amounts are free; amounts as for ``assume``.

        listed_at: ``now`` before Placement listed them as free.  They are free
            if no claim of this service was under way then or since.
        """
        with self._lock:
            return all((listed_at is not None
                        and not self._are_touched(row, listed_at))
                       or (not self._invalid[row] and all(
                           name in self._columns
                           and self._columns[name].has_room(row, amount)
                           for name, amount in resources.items()))
                       for row, resources in self._known(amounts))

    def are_under_way(self, uuids):
        """Return whether this service has claims under way on any of them."""
        self.catch_up()
        with self._lock:
            return any(self._under_way[row]
                       for row, _ in self._known(dict.fromkeys(uuids)))

    def _known(self, amounts):
        return [(self._rows[uuid], resources) for uuid, resources
                in amounts.items() if uuid in self._rows]

    def _use(self, row, resources, sign=1):
        for name, amount in resources.items():
            if name in self._columns:
                self._columns[name].used[row] += sign * amount
        self._touched[row] = self._clock()

    def _finish(self, row):
        # A provider that was removed and added again has no claims.
        self._under_way[row] = max(0, self._under_way[row] - 1)
        self._touched[row] = self._clock()

    # Queries of requests.

    def matching(self, query):
        """Return uuid -> row, and which rows fit a query: bool (n,).

        query: scheduler.utils.ResourceRequest.
        The second is None if the mirror does not support the query.  The first
        is never modified; it is another dict if providers were added or
        removed.
        """
        with self._lock:
            return self._rows, self._matching(query)

    def grants(self, query):
        """Return how many claims of a query each provider grants.

        Returns uuid -> row; resource class -> number of claims, int64 (n,);
        and which rows meet the other conditions, bool (n,).
        The last is None if the mirror does not support the query: then
        MOST_HELD claims of a class count for rows without inventory of it.
        """
        with self._lock:
            meets, times = self._meeting(query), {}
            for name, amount in query.groups[''].resources.items():
                column = self._columns.get(name) or _Column(len(self.uuids))
                times[name] = column.times(amount)
                if meets is None:
                    times[name][column.capacity == _NONE] = MOST_HELD
            return self._rows, times, meets

    def emptied(self):
        """Return a copy without usage, and with its own aggregates."""
        with self._lock:
            twin = copy.copy(self)
            twin._members = dict(self._members)
            twin._columns = {}
            for name, column in self._columns.items():
                twin._columns[name] = _Column(0, column.table.copy())
                twin._columns[name].used[:] = 0
            return twin

    def free(self, name):
        """Return uuid -> row, and the free amounts of a class: int64 (n,).

        Without inventory it is 0.
        """
        with self._lock:
            column = self._columns.get(name) or _Column(len(self.uuids))
            return self._rows, np.maximum(column.capacity - column.used, 0)

    def _matching(self, query):
        fits = self._meeting(query)
        if fits is None:
            return None
        for name, amount in query.groups[''].resources.items():
            fits &= self._columns[name].fits(amount)
        return fits

    def _meeting(self, query):
        """Return which rows meet a query's conditions but amounts.

        bool (n,), or None if the mirror does not support the query.
        """
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
        fits = self._is_root & ~self._invalid
        fits &= self._by_traits(
            lambda traits: not traits & forbidden
            and has_traits(traits, required))
        for aggregates in group.member_of:
            fits &= self._in_any(aggregates)
        fits &= ~self._in_any(group.forbidden_aggregates)
        if group.in_tree is not None:
            row = self._rows.get(group.in_tree)
            if row is None or not self._is_root[row]:
                return None
            fits &= np.arange(len(fits)) == row
        return fits

    def _unknown(self, traits):
        """Return whether Placement may not know some of the traits.

        It refuses a query with an unknown trait.
        """
        missing = traits - _STANDARD_TRAITS
        return bool(missing) and not missing <= frozenset().union(
            *self._traits.values)

    def _elsewhere(self, resources):
        """Return whether a candidate may consist of several providers."""
        parts = ~self._is_root | self._by_traits(
            lambda traits: os_traits.MISC_SHARES_VIA_AGGREGATE in traits)
        return bool(parts.any()) and any(
            (self._columns[name].capacity[parts] != _NONE).any()
            for name in resources)

    def _by_traits(self, judge):
        """Return the result of a function of the traits of each row."""
        codes = self._traits.codes
        verdicts = np.zeros(len(self._traits.values), np.bool_)
        for code in np.unique(codes).tolist():
            verdicts[code] = judge(self._traits.values[code])
        return verdicts[codes]

    def _in_any(self, aggregates):
        in_any = np.zeros(len(self.uuids), np.bool_)
        for aggregate in aggregates:
            in_any |= self._members[aggregate]
        return in_any


class Room:
    """The room of Providers, less the amounts taken on one view.

    outdated: uuids of providers that were listed as free and taken since.
    """

    def __init__(self, providers):
        self._providers, self._taken = providers, collections.Counter()
        self.outdated = set()

    def take(self, amounts, listed_at=None):
        """Take amounts; return whether they are free.

        amounts: provider uuid -> resource class -> amount.
        listed_at: as for ``Providers.has_room``.
        """
        if not self._providers.has_room({
                uuid: {name: amount + self._taken[uuid, name]
                       for name, amount in resources.items()}
                for uuid, resources in amounts.items()}, listed_at):
            if listed_at is not None:
                self.outdated |= amounts.keys()
            return False
        for uuid, resources in amounts.items():
            for name, amount in resources.items():
                self._taken[uuid, name] += amount
        return True

    def wait(self):
        """Wait briefly for claims under way on outdated providers."""
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


def has_traits(traits, required):
    """Return whether traits meet the required ones; ``in:`` means any."""
    return all(
        trait in traits if not trait.startswith(_ANY_OF)
        else traits.intersection(trait.removeprefix(_ANY_OF).split(','))
        for trait in required)
