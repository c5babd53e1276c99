"""Changes of the selected hosts between the two decisions on one request.

The live scheduler and the shadow decide at different moments. If the state
of a selected host changed in between, a difference between the decisions is
no difference between the schedulers. Three sources show changes: the
allocations of other consumers in Placement, the rows of the compute services,
and the live picks for other requests.

An instance that is on a host for a short time shows neither before nor
after. So two kinds of other requests count as well: requests that got the
host and have left it, and requests for several instances that do not all
show, because they may have claimed the host and released it.
"""

import collections

from nova_sched import exception
from nova_sched.dry_run import host_changes

#: Number of finished requests to keep, with the hosts that they got.
_REMEMBERED = 1000

#: Without Placement: seconds before the decision here in which the pick for
#: another request counts as later than the live decision.
_LAG = 1.0
#: Seconds for which a request that has left a host counts as still there.
_LINGERING = 5.0


class ChangeFinder:
    """Finds the changes of hosts since a request was decided here.

    decider: dry_run.decider.Decider.  live_picks: live_picks.LivePicks.
    max_candidates: limit in the queries to Placement.
    """

    def __init__(self, decider, live_picks, max_candidates):
        self._decider, self._live_picks = decider, live_picks
        self._max_candidates = max_candidates
        self._recent = collections.deque(maxlen=_REMEMBERED)

    def find(self, request, places, pending=()):
        """Return the changes since a request was decided here: texts.

        request: watcher.PendingRequest.  places: the live picks.
        pending: the other PendingRequests.
        """
        others = [*pending, *self._recent]
        changes = []
        if request.listing is not None and not request.listing.is_answered:
            changes.append(
                'Placement did not answer when it was decided here')
        try:
            self._decider.refresh()
            tables = request.table, self._decider.table()
            running = self._live_picks.hosts_of(request.uuids)
            for place in sorted({*places, *(
                    (pick.host, pick.nodename)
                    for pick in request.record.picks)}, key=str):
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
            changes.append(f'the changes since are not known: {exc}')
        return changes

    def remember(self, request, unseen):
        """Keep the hosts of a finished request, without its state.

        unseen: whether its live decision was not seen, and so may be made
            later.
        """
        if unseen and request.may_be_hidden:
            request.decided_by += _LINGERING
        request.forget_state()
        self._recent.append(request)

    def _other_usage(self, request, place, others):
        """Return the usage of a host by other requests: at most one text."""
        listing, host = request.listing, place[0]
        if listing is None or listing.max_candidates is None:
            for other in others:
                if other.undecided_at(request.started_at - _LAG) and (
                        other.instances_on(host)):
                    return [f'{host} was given to request '
                            f'{other.request_id}, too']
            return _departed_request(host, {}, others, request.started_at)
        provider = provider_of(place, request.table)
        allocations = (self._decider.placement.provider_allocations(provider)
                       if provider else {})
        before = listing.usages.get(provider)
        if before is None:
            if place in request.seen_before.values():
                return [f'{host} was claimed before it was decided here']
            if listing.max_candidates >= self._max_candidates:
                return [f'Placement may have left out {host}: it offered as '
                        'many as [scheduler] max_placement_results = '
                        f'{self._max_candidates}']
            return _departed_request(host, allocations, others,
                                     request.started_at, _LINGERING)
        held_before = {}
        for allocation in request.held_before.values():
            held_before |= allocation.get(provider, {})
        # The usages reflect a departure, unless only the live scheduler
        # counted the instance, which takes a concurrent request.
        concurrent = any(
            other.undecided_at(request.started_at) for other in others)
        return usage_changes(
            host, before, allocations, set(request.uuids),
            held_before) or _departed_request(
                host, allocations, others, request.started_at,
                _LINGERING if concurrent else 0)


def _departed_request(host, allocations, others, started_at, lingering=0):
    """Return a request that had a host, or may have had it: texts.

    allocations: consumer -> allocation on the host.
    started_at: start of the decision here.
    lingering: seconds before that in which a departure still counts.

    A request that still holds the host does not count: the live scheduler
    found room beside it.
    """
    for other in others:
        instances = other.instances_on(host)
        if (other.undecided_at(started_at - lingering)
                and instances - allocations.keys()):
            return [f'{host} was given to request {other.request_id}, '
                    f'which has left it since']
        if other.may_be_hidden and other.undecided_at(started_at):
            return [f'{host} may have been held for request '
                    f'{other.request_id}, which is for several instances']
    return []


def usage_changes(host, before, allocations, consumers, held_before):
    """Return the changes in other consumers' usage of a provider: texts.

    before: class -> amount in use before. Other classes are not compared, as
        older versions of Placement omit them.
    allocations: consumer -> class -> amount, now.
    consumers: instances of the request itself.
    held_before: class -> amount that the request's instances held before.
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
    return table.snapshot(None).value('uuid', rows[0]) if rows else None
