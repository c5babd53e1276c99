"""The search for the first selection of host cells that fits a guest.

The result equals that of Nova's walk over ``itertools.permutations`` of the
host cells, including the state in which the walk leaves the guest cells.  A
16-cell host has half a billion selections of 8 cells, so selections that
cannot change the result are skipped.

The walk: guest cell i is tried on the i-th host cell of a selection; the first
guest cell that does not fit ends the selection.  The verdict for a host cell
and the guest cell's *token* is cached.  The tokens of ``ById`` are those of
current Nova: the guest cell's id, which placing overwrites with the host
cell's id.  So guest cells get equal tokens, and share verdicts.  ``ByCell``
has a token for each guest cell, without sharing.

Consecutive selections have a common prefix, whose guest cells are placed again
on the same host cells, now under new tokens.  This is skipped if the verdicts
of the new tokens are cached (``_replay``).  The selections with a prefix are
skipped if

1. a guest cell is refused on all remaining host cells, or
2. all verdicts are cached and equal for all tokens (``_uniform``), or
3. they were walked before with the same tokens (``_memory``), or
4. the remaining guest cells have no matching (``ByCell`` only).

After a number of steps ``matching`` checks whether any selection is possible,
and certain verdicts are cached.  The result may then differ from the walk only
in the CPUs that a guest cell is pinned to: in Nova they may be those of a host
cell that it was tried on earlier.
"""

import itertools

from nova_sched.hardware.numa import effort
from nova_sched.hardware.numa.matching import bits
from nova_sched.hardware.numa.matching import can_match

#: Outcomes that end the search, less than any index of a path.
_FOUND, _IMPOSSIBLE = -1, -2


class _Tokens:
    """The tokens under which verdicts on guest cells are cached.

    place: function (guest index, host position) -> whether the guest cell
        fits there; it is placed there if so.
    """

    def __init__(self, hosts, guests, place):
        self._hosts, self._guests, self.place = hosts, guests, place

    def are_settled(self):
        """Return whether all page sizes are final, and so all verdicts."""
        return all(guest.pagesize is None or guest.pagesize > 0
                   for guest in self._guests)


class ById(_Tokens):
    """Tokens are the guest cells' current ids; verdicts are shared."""

    shared = True

    def token(self, index):
        return self._guests[index].id

    def accept(self, index, position):
        """Place a guest cell by a cached verdict."""
        self._guests[index].id = self._hosts[position].id

    def finish(self, path):
        """Leave the guest cells as the walk has left them."""


class ByCell(_Tokens):
    """Tokens are the guest cells themselves, with their page sizes."""

    shared = False

    def token(self, index):
        return index, self._guests[index].pagesize

    def accept(self, index, position):
        """Do nothing: placing a guest cell again changes nothing."""

    def finish(self, path):
        """Place all guest cells, as the walk does at its end."""
        for index, position in enumerate(path):
            self.place(index, position)


class Search:
    """One search; ``find`` runs it.

    tokens: ById or ByCell; its ``place(guest index, host position)`` tries a
        guest cell on a host cell.
    matching: Matching of the guest cells with the host cells.
    rules: selection.SelectionRules, or None without rules for a complete
        selection.
    final: whether the state of the guest cells is irrelevant if the search
        fails.
    spend: method of an effort.Effort.
    """

    #: Steps until the first check whether any selection is possible.
    FIRST_LOOK = 100

    def __init__(self, tokens, matching, rules, final=True, *, spend):
        self._tokens, self._matching = tokens, matching
        self._spend = spend
        self._rules, self._final = rules, final
        self._ids, self._size = matching.host_ids, matching.guest_count
        self._everything = (1 << len(self._ids)) - 1
        self._good, self._bad = {}, {}
        self._memory, self._known = {}, 0
        self._path, self._settled = [], 0
        self._first_tokens = self._state(0)
        self._steps, self._next_look = 0, self.FIRST_LOOK
        #: Whether it failed earlier than the walk.
        self.is_cut = False

    def find(self):
        """Return the host position of each guest cell: list, or None.

        Raises effort.GivenUp.
        """
        if self._explore(0, self._everything) != _FOUND:
            return None
        self._tokens.finish(self._path)
        return self._path

    def _explore(self, depth, free):
        """Walk the selections with the path as prefix.

        free: mask of the other host cells.
        Returns _FOUND; _IMPOSSIBLE; None if no selection fits; or the index in
        the path of a guest cell that is refused when it is placed again.
        """
        if depth == self._size:
            is_allowed = self._rules is None or self._rules.allow(
                self._everything & ~free)
            return _FOUND if is_allowed else None
        if self._is_stable(depth) and self._skipped(depth, free):
            return None
        state, known = self._state(depth), self._known
        for number, position in enumerate(bits(free)):
            refused = self._replay(depth) if number else None
            if refused is not None:
                return refused
            if self._is_impossible():
                return _IMPOSSIBLE
            outcome = self._below(depth, free, position)
            if outcome is not None and outcome < depth:
                return outcome
        if known == self._known:
            self._memory[depth, free, state] = self._state(depth)
        return None

    def _below(self, depth, free, position):
        """Walk the selections with one more host cell in the prefix."""
        if not self._try(depth, position):
            return None
        self._path.append(position)
        outcome = self._explore(depth + 1, free & ~(1 << position))
        if outcome != _FOUND:
            self._path.pop()
            self._settled = min(self._settled, depth)
        return outcome

    def _is_impossible(self):
        """Check from time to time whether no selection is possible."""
        self._steps += 1
        self._spend()
        if self._steps < self._next_look:
            return False
        self._next_look *= 2
        self._spend(effort.LOOK * self._size)
        tokens, shared = self._state(0), self._tokens.shared
        settled = self._tokens.are_settled()
        # A guest cell may lose the id it began with, but verdicts cached under
        # that id remain.
        if self._matching.is_impossible(self._first_tokens, shared, settled):
            return True
        if settled:
            self._cache_certain(tokens)
        impossible = (self._final and self._matching.is_impossible(
            tokens, shared, settled, self._good, self._bad)
            ) or not self._some_good(self._everything, self._matching.within,
                                     self._size)
        self.is_cut |= impossible
        return impossible

    def _cache_certain(self, tokens):
        """Cache the verdicts that are certain.

        Shared verdicts are certain if all guest cells fit on the same host
        cells.
        """
        rows = self._matching.rows
        if self._tokens.shared:
            if len(set(rows)) > 1:
                return
            tokens = {*tokens, *self._ids}
            rows = rows[:1] * len(tokens)
        for token, row in zip(tokens, rows, strict=True):
            self._good[token] = row
            self._bad[token] = self._everything & ~row

    def _try(self, index, position):
        """Return whether a guest cell fits on a host cell."""
        token, bit = self._tokens.token(index), 1 << position
        if self._good.get(token, 0) & bit:
            self._tokens.accept(index, position)
            return True
        if self._bad.get(token, 0) & bit:
            return False
        self._known += 1
        fits = self._tokens.place(index, position)
        verdicts = self._good if fits else self._bad
        verdicts[token] = verdicts.get(token, 0) | bit
        return fits

    def _replay(self, depth):
        """Place the path again; return the index that is refused, or None."""
        for index in range(self._settled, depth):
            if not self._try(index, self._path[index]):
                return index
        self._settled = depth
        return None

    def _is_stable(self, depth):
        """Return whether placing the path again would change nothing."""
        return all(
            self._good.get(self._tokens.token(index), 0)
            >> self._path[index] & 1
            for index in range(self._settled, depth))

    def _state(self, depth):
        return tuple(map(self._tokens.token, range(depth, self._size)))

    def _skipped(self, depth, free):
        """Return whether the path's selections can be skipped.

        The tokens are then set as the walk would set them.
        """
        state = self._state(depth)
        after = self._memory.get((depth, free, state))
        if after is None:
            end = next((number for number, token in enumerate(state)
                        if self._bad.get(token, 0) & free == free),
                       len(state))
            if not end:
                return True
            if self._tokens.shared:
                after = self._uniform(state[:end], free, end == len(state))
            else:
                after = self._unmatched(state, free, end)
        if after is None:
            return False
        if self._tokens.shared:
            for index, token in enumerate(after, depth):
                if token != state[index - depth]:
                    self._tokens.accept(index, self._ids.index(token))
        return True

    def _uniform(self, state, free, complete):
        """Return the tokens after a walk with equal verdicts for all tokens.

        None if verdicts may differ, or if a selection may be found.
        complete: whether ``state`` has the tokens of all remaining cells.
        """
        taking = self._taking(state, free)
        positions = bits(taking)
        tokens = set(state).union(self._ids[p] for p in positions)
        if not all(self._good.get(token, 0) & taking == taking
                   and self._bad.get(token, 0) & free == free & ~taking
                   for token in tokens):
            return None
        if complete and len(positions) >= len(state) and self._some_good(
                free, taking, len(state)):
            return None
        last = [self._ids[p] for p in reversed(positions)][:len(state)]
        return (*last, *state[len(last):])

    def _taking(self, state, free):
        for token in state:
            free &= self._good.get(token, 0)
        return free

    def _some_good(self, free, taking, count):
        if self._rules is None:
            return True
        return self._rules.allow_some(self._everything & ~free, taking, count)

    def _unmatched(self, state, free, end):
        """Return ``state`` if the remaining cells have no matching, or None.
        """
        if not all((self._good.get(token, 0) | self._bad.get(token, 0))
                   & free == free for token in state[:end]):
            return None
        if end < len(state):
            return state
        rows = [self._good.get(token, 0) & free for token in state]
        if not can_match(rows):
            return state
        if self._rules is None:
            return None
        taking = self._taking(state, free)
        if any(row != taking for row in rows) or self._some_good(
                free, taking, len(rows)):
            return None
        return state


def subsets(mask, most):
    """Yield all subsets of a mask with at most ``most`` bits, largest first.
    """
    single = [1 << position for position in bits(mask)]
    for count in range(min(most, len(single)), -1, -1):
        for some in itertools.combinations(single, count):
            yield sum(some)
