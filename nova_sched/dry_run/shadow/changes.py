"""What changed on the chosen hosts between two decisions on one request.

The live scheduler and the shadow decide at different moments. If the state
of a chosen host changed in between, a difference says nothing about either
of them. Three sources show a change: what other consumers hold in Placement,
the rows of the compute services, and what live schedulers chose for other
requests.

An instance that is on a host for a short time shows neither before nor
after. So two kinds of other requests count as well: those that were given
the host and have left it, and those for several instances of which not all
show, because they may have claimed the host and released it.
"""

import collections

from nova_sched import exception
from nova_sched.dry_run import host_changes

#: Requests that are remembered, to see who else was given a host.
_REMEMBERED = 1000

#: Seconds before the decision here in which another request's pick counts as
#: made after the live decision, where nothing is claimed in Placement.
_LAG = 1.0
#: Seconds for which a request that has left a host counts as still there.
_LINGERING = 5.0


class ChangeFinder:
    """Finds what changed on hosts since a request was decided here.

    decider: dry_run.decider.Decider.  live_picks: live_picks.LivePicks.
    max_candidates: limit that Placement is given.
    """

    def __init__(self, decider, live_picks, max_candidates):
        self._decider, self._live_picks = decider, live_picks
        self._max_candidates = max_candidates
        self._recent = collections.deque(maxlen=_REMEMBERED)

    def find(self, request, places, pending=()):
        """Return what changed since a request was decided here: texts.

        request: watcher.PendingRequest.  places: the live picks.
        pending: the other PendingRequests.
        """
        chosen = {(pick.host, pick.nodename)
                  for pick in request.record.picks}
        others = [*pending, *self._recent]
        changes = []
        if request.listing is not None and not request.listing.is_answered:
            changes.append(
                'Placement did not answer when it was decided here')
        try:
            self._decider.refresh()
            tables = request.table, self._decider.table()
            running = self._live_picks.hosts_of(request.uuids)
            for place in sorted({*chosen, *places}, key=str):
                host = place[0]
                if (place in request.seen_before.values()
                        and host in request.ran_on):
                    changes.append(f'an instance of the request was on '
                                   f'{host} before it was decided here')
                elif host not in running and None not in tables:
                    changes += host_changes.row_changes(place, *tables)
                changes += self._other_usage(request, place, others)
        except (exception.PlacementError,
                exception.DatabaseUnavailable) as exc:
            changes.append(f'what has changed is not known: {exc}')
        return changes

    def remember(self, request, unseen):
        """Remember which hosts a request got, and not what it was decided on.

        unseen: whether its live decision does not show; it may be made a
            while later.
        """
        if unseen and request.may_be_hidden:
            request.decided_by += _LINGERING
        request.forget_state()
        self._recent.append(request)

    def _other_usage(self, request, place, others):
        """Return how other requests used a host: texts, the first is enough.
        """
        listing, [host, _] = request.listing, place
        if listing is None or listing.most is None:
            return _given_to_another(place, others, request.started_at)
        provider = provider_of(place, request.table)
        allocations = (self._decider.placement.provider_allocations(provider)
                       if provider else {})
        before = listing.usages.get(provider)
        if before is None:
            if place in request.seen_before.values():
                return [f'{host} was claimed before it was decided here']
            if listing.most >= self._max_candidates:
                return [f'Placement may have left out {host}: it offered as '
                        'many as [scheduler] max_placement_results = '
                        f'{self._max_candidates}']
            return _left_by_another(place, allocations, others,
                                    request.started_at, _LINGERING)
        held_before = {}
        for allocation in request.held_before.values():
            held_before |= allocation.get(provider, {})
        # The usages show what has left since, unless only the live scheduler
        # counted it. Without other open requests there is no such.
        concurrent = any(
            other.undecided_at(request.started_at) for other in others)
        return usage_changes(
            host, before, allocations, set(request.uuids),
            held_before) or _left_by_another(
                place, allocations, others, request.started_at,
                _LINGERING if concurrent else 0)


def _given_to_another(place, others, started_at):
    """Return which other request has a host, or had it: texts."""
    for other in others:
        if other.undecided_at(started_at - _LAG) and other.instances_on(
                place[0]):
            return [f'{place[0]} was given to request {other.request_id}, '
                    'too']
    return _left_by_another(place, {}, others, started_at, 0)


def _left_by_another(place, allocations, others, started_at, lingering):
    """Return which other request had a host, or may have had it: texts.

    allocations: by consumer, those on the host.
    started_at: when the decision here began.
    lingering: seconds before that for which one that left still counts.

    One that holds the host to this day is no reason: the live scheduler
    found room beside it.
    """
    for other in others:
        instances = other.instances_on(place[0])
        if (other.undecided_at(started_at - lingering)
                and instances - allocations.keys()):
            return [f'{place[0]} was given to request {other.request_id}, '
                    f'which has left it since']
        if other.may_be_hidden and other.undecided_at(started_at):
            return [f'{place[0]} may have been held for request '
                    f'{other.request_id}, which is for several instances']
    return []


def usage_changes(host, before, allocations, consumers, held_before):
    """Return how other consumers' usage of a provider changed: texts.

    before: class -> amount in use before; other classes are not compared, as
        older versions of Placement omit them.
    allocations: consumer -> class -> amount, the present ones.
    consumers: of the request itself.
    held_before: class -> amount that those held before.
    """
    now = collections.Counter(held_before)
    for consumer in allocations.keys() - consumers:
        now.update(allocations[consumer])
    return [f'{resource} of {host} taken by others in Placement: '
            f'{before[resource]} became {now[resource]}'
            for resource in sorted(before)
            if before[resource] != now[resource]]


def provider_of(place, table):
    """Return the uuid of a host's resource provider, None if not known.

    table: HostTable, or None.
    """
    rows = [] if table is None else host_changes.rows_of(table, place)
    return table.snapshot(None).cell('uuid', rows[0]) if rows else None
