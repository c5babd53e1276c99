"""The kind and the codes (``rules.codes``) of a refusal.

The kind is the first of these that applies:

``contradiction``
    No cloud could serve the request: it is for no instance, names an unknown
    host, or has conditions that exclude each other.
``raced``
    Hosts passed, but other requests took them: claims are refused or
    unanswered.
``state_stale``
    A cell cannot be read, or most rejected hosts are down.
``filtered_out``
    A host has enough of all compared amounts, and is rejected for another
    reason.
``too_large``
    No host would have enough even if it were empty.
``fragmented``
    No host has enough, but all hosts together have.
``no_capacity``
    All hosts together do not have enough.
"""

import collections

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget
from nova_sched.hosts import instances
from nova_sched.rules import codes
from nova_sched.rules import figures
from nova_sched.rules import narrowing
from nova_sched.scheduler.filters import core_filter
from nova_sched.scheduler.filters import disk_filter
from nova_sched.scheduler.filters import ram_filter

LOG = logging.getLogger(__name__)

#: Codes of all conditions in a request except a requested host.
_CONDITIONS = frozenset((
    'ignored', 'zone', 'group_affinity', 'group_anti_affinity', 'same_host',
    'different_host', 'cidr', 'json_query', 'other_cell'))

#: Appended to the reason if Placement counts more usage than hosts report.
_CONTRADICTED = (
    ', and has no room for the amounts on any host, though hosts report room: '
    'it may have allocations of deleted instances, see "nova-manage placement '
    'audit"')

#: Filters for the amounts that Placement compares, if they are not enabled.
_COUNTED_ELSEWHERE = (ram_filter.RamFilter(), core_filter.CoreFilter(),
                      disk_filter.DiskFilter())


def note(record, filters, hosts, spec_obj):
    """Record the codes and the kind of a refused request.

    record: its Decision, with all steps.  filters: the enabled filters.
    hosts: HostSnapshot after the decision.
    """
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    target = narrowing.bound_to(hosts.block(), spec_obj)
    counts, of_target = collections.Counter(), collections.Counter()
    for name, rows in record.funnel.rejected():
        filter_ = by_name.get(name)
        counts.update(_codes(filter_, name, hosts.block(rows), spec_obj))
        rows = np.intersect1d(rows, target)
        if len(rows):
            of_target.update(_codes(filter_, name, hosts.block(rows),
                                    spec_obj))
    ordered = counts.most_common()
    # Codes of hosts that the request itself excludes count only if there are
    # no others.
    code = _code(record, of_target.most_common() or [
        item for item in ordered
        if codes.stage(item[0]) != codes.REQUEST] or ordered)
    record.refuse(code, _kind(record, code, filters, hosts, spec_obj),
                  ordered)


def note_nothing_offered(record, hosts, spec_obj, counts_room=lambda: None):
    """Record that Placement has no candidates for a request.

    hosts: HostSnapshot of all hosts; None if unknown.
    counts_room: function that returns whether a provider has the amounts free;
        None if unknown.  Called only if a host reports the amounts as free.
    """
    kind, counts = None, ()
    if hosts is not None:
        every = hosts.block()
        record.funnel.step(0, codes.OFFERED, every.rows, every.rows[:0])
        counts = [('placement_not_offered', len(every))]
        kind = (codes.CONTRADICTION if _excludes_itself(spec_obj, ())
                else codes.STATE_STALE if record.state.lost
                else room_kind((), every, spec_obj))
        if kind == codes.FILTERED_OUT and _asks_for_more(spec_obj):
            kind = None
        elif kind == codes.FILTERED_OUT and counts_room() is False:
            kind = codes.NO_CAPACITY
            record.reason += _CONTRADICTED
    record.refuse('placement_offers_none', kind, counts)


def _codes(filter_, name, hosts, spec_obj):
    """Return the number of a rule's rejected hosts by code: {code: int}."""
    counts = None if filter_ is None else _result(
        filter_, 'codes', hosts, spec_obj)
    return counts or {codes.of_rule(name, filter_): len(hosts)}


def _result(filter_, method, hosts, spec_obj):
    """Return the result of a filter's method for hosts; None if it fails."""
    try:
        with budget.Step('reason'):
            return getattr(filter_, method)(hosts, spec_obj)
    except Exception as error:
        # A failing method must not fail the request.
        LOG.debug('%s has no %s: %r', type(filter_).__name__, method, error)
    return None


def _code(record, counts):
    """Return the code of a refusal.

    It is the code of a failed claim, of missing hosts, or of most rejected
    hosts, in this order.
    counts: list of (code, number of hosts), most hosts first.
    """
    if any(claim.taken is None for claim in record.claims):
        return 'claim_unanswered'
    if any(code == 'claim_refused' for code, _ in counts):
        return 'claim_refused'
    if not record.state.hosts:
        return 'database_unavailable' if record.state.lost else 'no_hosts'
    return counts[0][0] if counts else 'no_reason'


def _kind(record, code, filters, hosts, spec_obj):
    if _excludes_itself(spec_obj, filters) or _pin_is_out(record, filters,
                                                          spec_obj):
        return codes.CONTRADICTION
    if codes.stage(code) == codes.CLAIMS:
        return codes.RACED
    if record.state.lost or code == 'service_down':
        return codes.STATE_STALE
    return room_kind(filters, hosts.block(), spec_obj)


def _excludes_itself(spec_obj, filters):
    """Return whether conditions of a request exclude each other.

    Hints and server groups count only if a filter for them is enabled.
    """
    ignored = {name.lower() for name in spec_obj.ignore_hosts or ()}
    named = {name.lower() for name in spec_obj.force_hosts or ()}
    target = spec_obj.requested_destination
    if target is not None and target.host is not None:
        named.add(target.host.lower())
    if named and named <= ignored:
        return True
    enabled = {codes.of_rule('', filter_) for filter_ in filters}
    different, same = (
        set(instances.hinted(spec_obj, hint) if hint in enabled else ())
        for hint in instances.HINTS)
    group = spec_obj.instance_group
    members = set() if group is None else {*(group.members or ())}
    policy = None if group is None else group.policy
    return bool(same & different
                or (policy == 'anti-affinity' and same & members
                    and 'group_anti_affinity' in enabled)
                or (policy == 'affinity' and different & members
                    and 'group_affinity' in enabled))


def _pin_is_out(record, filters, spec_obj):
    """Return whether another condition excludes the requested destination."""
    target = spec_obj.requested_destination
    if target is None or target.host is None:
        return False
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    steps = [name for name, _ in record.funnel.rejected()
             if name not in (narrowing.DESTINATION, codes.OFFERED)]
    return bool(steps) and codes.of_rule(
        steps[-1], by_name.get(steps[-1])) in _CONDITIONS


def room_kind(filters, hosts, spec_obj):
    """Return the kind of a refusal by the amounts that hosts have.

    Uses the amounts that filters compare; if none of them is a free amount,
    also the RAM, VCPUs and disk that compute nodes report.
    hosts: HostBlock of all hosts.
    """
    compared = _figures(filters, hosts, spec_obj)
    if not any(figure.kind in (figures.LEFT, figures.EXACT)
               for figure in compared):
        compared += _figures(_COUNTED_ELSEWHERE, hosts, spec_obj)
    if np.all([figure.suffices for figure in compared], axis=0).any():
        return codes.FILTERED_OUT
    in_total = [figure.suffices for figure in compared
                if figure.kind == figures.TOTAL]
    if in_total and len(hosts) and not np.all(in_total, axis=0).any():
        return codes.TOO_LARGE
    if all(figure.have[figure.have > 0].sum() >= figure.need
           for figure in compared if figure.kind != figures.TOTAL):
        return codes.FRAGMENTED
    return codes.NO_CAPACITY


def _asks_for_more(spec_obj):
    """Return whether the query has more than RAM, VCPUs and disk."""
    extra_specs = spec_obj.flavor.extra_specs or {}
    return bool(spec_obj.requested_resources) or any(
        name.startswith('resources') or name == 'hw:cpu_policy'
        for name in extra_specs)


def _figures(filters, hosts, spec_obj):
    """Return the amounts that filters compare: list of Figure."""
    return [figure for filter_ in filters for figure in _result(
        filter_, 'figures', hosts, spec_obj) or ()]
