"""A request that nobody else remembers, decided in portions, each in its turn.

Requests are decided one after the other, on what is in flight by then.  One
that has many instances places some, commits them, and lets the others go
first before it goes on.  They see what it holds, as they would of claims in
Placement, and it is given back if there is not enough for all.
"""

import contextlib


class Portions:
    """One try at a request.

    driver: FilterScheduler.  wanted: placing.Wanted.
    found: Instances.  record: Decision.
    """

    def __init__(self, driver, wanted, found, record):
        self._driver, self._manager = driver, driver.host_manager
        self._wanted, self._found, self._record = wanted, found, record
        self._placing, _ = driver.placing(wanted, record)
        self._table = self._snapshot = None
        self._kept = []

    def decided(self, alone):
        """The answer; None if others have taken meanwhile what it depends on.

        alone: as of Picks.turn.
        Raises what Placing does; then nothing is in flight any more.
        """
        try:
            while self._place_some(alone):
                if not self._placing.left:
                    answer = self._placing.answer()
                    self._driver.note_in_flight(self._kept)
                    return answer
        except BaseException:
            self._driver.take_back(self._kept)
            raise
        self._driver.take_back(self._kept)
        return None

    def _place_some(self, alone):
        """Whether a portion was placed and is in flight."""
        with contextlib.ExitStack() as stack:
            with self._record.timed('wait'):
                turn = stack.enter_context(self._manager.turn(alone))
            view = self._look()
            if not view.table.has_rows_of(self._table):
                return False
            picks = self._placing.run(
                self._snapshot, self._manager.siblings(self._wanted),
                turn.is_over if self._may_pause(view) else _never)
            self._kept += picks
            return self._manager.keep(view, self._snapshot, picks,
                                      self._wanted)

    def _may_pause(self, view):
        """Whether what is placed so far can be committed without the rest.

        What nobody remembers would not be there in the next portion; and
        picks of an earlier call for the same instances stay unless all of
        them have new ones.
        """
        return self._manager.is_kept(self._wanted) and not view.own

    def _look(self):
        """Have the hosts as they are at this moment: View."""
        if self._snapshot is None:
            view, self._snapshot = self._driver.hosts(
                self._wanted, self._found, self._record)
            self._snapshot.may_ask = False
            self._table = view.table
            # After the view: what is placed between is a conflict then.
            self._found.start_over()
            return view
        view = self._manager.view(self._placing.left)
        self._found.catch_up()
        self._snapshot.go_on(self._manager.snapshot(
            view.table, self._found, self._record.clock, self._record.offer))
        return view


def _never():
    return False
