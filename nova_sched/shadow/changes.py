"""What happened to the hosts of two decisions between the one and the other.

Whatever it was, the two were made on different states, and tell nothing of
who decides better. It is looked for on the hosts that were chosen: what
others have taken of them in Placement, what differs in their rows, and what
live schedulers put there for other requests.
"""

import collections

from nova_sched import exception
from nova_sched.shadow import moved

#: Live picks that are remembered, to see who else was put on a host.
_RECENT = 1000

#: Seconds before a decision here in which the pick of another request counts
#: as made after the live one.
_LAG = 1.0


class Changes:
    """Looks for them.

    decider: decide.Decider.  live: live.LivePicks.  placement:
    reading.ReadOnly, or None.
    """

    def __init__(self, decider, live, placement):
        self._decider, self._live = decider, live
        self._placement = placement
        self._recent = collections.deque(maxlen=_RECENT)

    def between(self, one, places):
        """What has changed since a request was decided here: list of texts.

        one: watch.Waiting.  places: the live picks.
        """
        chosen = {(pick.host, pick.nodename) for pick in one.record.picks}
        found = []
        try:
            self._decider.refresh()
            running = self._live.running(one.uuids)
            for place in sorted({*chosen, *places}, key=str):
                if place[0] not in running:
                    found += self._rows(one, place)
                found += self._taken(one, place)
        except (exception.PlacementError,
                exception.DatabaseUnavailable) as exc:
            found.append(f'what has changed is not known: {exc}')
        return found

    def seen(self, one, places):
        """Remember the live picks of a request."""
        self._recent += [(host, one.record.request_id, one.ended)
                         for host, _node in places]

    def _rows(self, one, place):
        """What a compute service has reported of a host."""
        now = self._decider.table()
        if one.table is None or now is None:
            return []
        return moved.rows(place, one.table, now)

    def _taken(self, one, place):
        """What was given away of a host."""
        provider = moved.provider(place, one.table)
        before = (one.candidates.used().get(provider)
                  if one.candidates is not None else None)
        if before is None:
            return self._not_offered(one, place)
        held = {}
        for had in one.before.values():
            held |= had.get(provider, {})
        return moved.usages(place[0], before, self._placement.holders(
            provider), (set(one.uuids), held))

    def _not_offered(self, one, place):
        """As ``_taken``, of a host of which Placement has not told."""
        if one.early and place in one.places.values():
            return [f'{place[0]} was claimed before it was decided here']
        return [f'{host} was given to request {other}, too'
                for host, other, ended in self._recent
                if host == place[0] and ended >= one.began - _LAG][:1]
