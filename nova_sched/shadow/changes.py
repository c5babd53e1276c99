"""What happened to the hosts of two decisions between the one and the other.

Whatever it was, the two were made on different states, and tell nothing of
who decides better. It is looked for on the hosts that were chosen: what
others have taken of them in Placement, what differs in their rows, and what
live schedulers put there for other requests, be it for a while.

What is on a host for a while shows neither before nor after. So requests of
the same time count that were given the host and are not there any more, and
those for several instances of which it does not show what they had: they may
have claimed it and given it back.
"""

import collections
import dataclasses

from nova_sched import exception
from nova_sched.observe import logs
from nova_sched.shadow import moved

#: Requests that are remembered, to see who else was put on a host.
_RECENT = 1000

#: Seconds before a decision here in which the pick of another request counts
#: as made after the live one, where none is claimed in Placement.
_LAG = 1.0
#: Seconds in which whoever has left a host may have been there still.
_LINGERS = 5.0


@dataclasses.dataclass(frozen=True)
class Other:
    """A request besides the one that is compared.

    places: uuid -> (host, node), as far as its live picks are seen.
    elusive: whether it may have held more: it is for several instances, and
        not all of them show.
    until: when it was told of, in seconds, or later if its live decision may
        be; None for one that is waited for.
    """

    request_id: str
    places: dict
    elusive: bool
    until: float | None = None

    @classmethod
    def of(cls, one, until=None):
        """What a watch.Waiting is for the others."""
        several = max(one.record.instances, len(one.uuids)) > 1
        # Of callers that name no instances none shows.
        return cls(logs.field(one.record.request_id),
                   dict(one.places),
                   several and bool(one.left or not one.uuids), until)

    def since(self, when):
        """Whether it was still to be decided at that time."""
        return self.until is None or self.until > when

    def on(self, host):
        """Its instances on a host: set of uuids."""
        return {uuid for uuid, place in self.places.items()
                if place[0] == host}


class Changes:
    """Looks for them.

    decider: decide.Decider.  live: live.LivePicks.  placement:
    reading.ReadOnly, or None.  most: candidates that Placement is asked for.
    """

    def __init__(self, decider, live, placement, most):
        self._decider, self._live = decider, live
        self._placement, self._most = placement, most
        self._recent = collections.deque(maxlen=_RECENT)

    def between(self, one, places, waiting=()):
        """What has changed since a request was decided here: list of texts.

        one: watch.Waiting.  places: the live picks.  waiting: the Waiting
        besides.
        """
        chosen = {(pick.host, pick.nodename) for pick in one.record.picks}
        others = [*map(Other.of, waiting), *self._recent]
        found = []
        if one.candidates is not None and one.candidates.silent:
            found.append('Placement did not answer when it was decided here')
        try:
            self._decider.refresh()
            running = self._live.running(one.uuids)
            used = one.candidates.used() if one.candidates else None
            for place in sorted({*chosen, *places}, key=str):
                if place in one.early.values() and place[0] in one.ran:
                    found.append(f'an instance of the request was on '
                                 f'{place[0]} before it was decided here')
                elif place[0] not in running:
                    found += self._rows(one, place)
                found += self._taken(one, place, used, others)
        except (exception.PlacementError,
                exception.DatabaseUnavailable) as exc:
            found.append(f'what has changed is not known: {exc}')
        return found

    def seen(self, one, unseen):
        """Remember what a request was given.

        unseen: whether that does not show; it may be decided a while later.
        """
        other = Other.of(one, one.ended)
        if unseen and other.elusive:
            other = dataclasses.replace(other, until=one.ended + _LINGERS)
        self._recent.append(other)

    def _rows(self, one, place):
        """What a compute service has reported of a host."""
        now = self._decider.table()
        if one.table is None or now is None:
            return []
        return moved.rows(place, one.table, now)

    def _taken(self, one, place, used, others):
        """What was given away of a host, as the first text that tells it.

        used: provider -> class -> amount, as Placement told before it was
        decided here; None where it played no part.
        """
        if used is None:
            return _given(one, place, others)
        provider = moved.provider(place, one.table)
        holders = self._placement.holders(provider) if provider else {}
        before = used.get(provider)
        if before is None:
            return (_early(one, place) or self._left_out(one, place)
                    or _left(place, holders, others, one.asked, _LINGERS))
        held = {}
        for had in one.before.values():
            held |= had.get(provider, {})
        # What is gone since is seen, unless it was there for live alone.
        # One request at a time has nobody besides that could be.
        busy = any(other.since(one.asked) for other in others)
        return moved.usages(
            place[0], before, holders, (set(one.uuids), held)) or _left(
                place, holders, others, one.asked, _LINGERS if busy else 0)

    def _left_out(self, one, place):
        """Whether Placement may have left a host out for their number."""
        if one.candidates.most() < self._most:
            return []
        return [f'Placement may have left out {place[0]}: it offered as many '
                f'as [scheduler] max_placement_results = {self._most}']


def _early(one, place):
    """Of a host whose live claim was there at the first look: list."""
    if place not in one.early.values():
        return []
    return [f'{place[0]} was claimed before it was decided here']


def _given(one, place, others):
    """Of a host that live schedulers gave to another request: list."""
    return [f'{place[0]} was given to request {other.request_id}, too'
            for other in others
            if other.since(one.asked - _LAG) and other.on(place[0])
            ][:1] or _left(place, {}, others, one.asked, 0)


def _left(place, holders, others, asked, lingers):
    """Of a host that another request had for a while, or may have: list.

    holders: consumers on it.  asked: when the decision here began.
    lingers: seconds before, in which whoever has left it counts.

    Who holds it to this day is no reason: the live pick had room beside it.
    """
    for other in others:
        mine = other.on(place[0])
        if other.since(asked - lingers) and mine - holders.keys():
            return [f'{place[0]} was given to request {other.request_id}, '
                    f'which has left it since']
        if other.elusive and other.since(asked):
            return [f'{place[0]} may have been held for request '
                    f'{other.request_id}, which is for several instances']
    return []
