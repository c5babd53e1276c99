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
        self._table, self._kept = None, []
        # What nobody remembers would not be there in the next portion.
        self._goes_on_later = self._manager.is_kept(wanted)

    def decided(self, alone):
        """The answer; None if others have taken meanwhile what it depends on.

        alone: as of Picks.turn.
        Raises what Placing does; then nothing is in flight any more.
        """
        try:
            while self._place_some(alone):
                if not self._placing.left:
                    return self._placing.answer()
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
            hosts = self._hosts()
            if hosts is None:
                return False
            view, snapshot = hosts
            snapshot.may_ask = False
            picks = self._placing.run(
                snapshot, self._manager.siblings(self._wanted),
                turn.is_over if self._goes_on_later else _never)
            if not self._manager.keep(view, snapshot, picks, self._wanted):
                return False
            self._kept += picks
            return True

    def _hosts(self):
        """The hosts as they are at this moment: View and HostSnapshot of it.

        None if they are not those of the portion before.
        """
        if self._table is None:
            self._found.start_over()
            view, snapshot = self._driver.hosts(
                self._wanted, self._found, self._record)
            self._table = view.table
            return view, snapshot
        self._found.catch_up()
        view = self._manager.view(self._placing.left)
        if not view.table.has_rows_of(self._table):
            return None
        return view, self._manager.snapshot(
            view.table, self._found, self._record.clock, self._record.offer)


def _never():
    return False
