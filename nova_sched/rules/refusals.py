"""What kind of a no a request gets, and by which codes (``rules.codes``).

The kinds, the first that holds:

``contradiction``
    The request cannot be met by any cloud: it asks for no instance, names a
    host that is not there, or what it asks for excludes itself.
``raced``
    Hosts were left, and others have taken them: claims are refused, or not
    answered.
``state_stale``
    A cell cannot be read, or most hosts that are out are silent.
``filtered_out``
    A host has room, by all amounts that are compared, and is out for another
    reason.
``too_large``
    No host would have room if it were empty.
``fragmented``
    No host has room, but all together have.
``no_capacity``
    They have not.
"""

import collections

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import budget
from nova_sched.rules import codes
from nova_sched.rules import figures
from nova_sched.rules import narrowing
from nova_sched.scheduler.filters import core_filter
from nova_sched.scheduler.filters import disk_filter
from nova_sched.scheduler.filters import ram_filter

LOG = logging.getLogger(__name__)

#: What a request asks for besides a host by name.
_WISHES = frozenset((
    'ignored', 'zone', 'group_affinity', 'group_anti_affinity', 'same_host',
    'different_host', 'cidr', 'json_query', 'other_cell'))

#: What stands behind the reason where Placement counts what hosts do not.
_CONTRADICTED = (
    ', and counts no room for its amounts on any, though hosts report it: it '
    'may hold allocations of instances that are gone, see "nova-manage '
    'placement audit"')

#: Filters of what Placement counts, in place of those that are not enabled.
_COUNTED_ELSEWHERE = (ram_filter.RamFilter(), core_filter.CoreFilter(),
                      disk_filter.DiskFilter())


def note(record, filters, hosts, spec_obj):
    """Put on record by which codes a request is refused, and its kind.

    record: its Decision, with all steps.  filters: those that are enabled.
    hosts: HostSnapshot that it was decided on, as it was in the end.
    """
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    target = narrowing.bound_to(hosts.block(), spec_obj)
    counts, of_target = collections.Counter(), collections.Counter()
    for name, rows in record.funnel.rejected():
        asked = record, by_name.get(name), name
        counts.update(_codes(*asked, hosts.block(rows), spec_obj))
        rows = np.intersect1d(rows, target)
        if len(rows):
            of_target.update(_codes(*asked, hosts.block(rows), spec_obj))
    found = counts.most_common()
    code = _code(record, of_target.most_common() or _asked_elsewhere(found))
    record.refuse(code, _kind(record, code, filters, hosts, spec_obj), found)


def _asked_elsewhere(found):
    """Return the codes of hosts without those that the request excludes.

    found: list of (code, number of hosts).  All of them if it excludes all.
    """
    return [each for each in found
            if codes.stage(each[0]) != codes.REQUEST] or found


def note_nothing_offered(record, hosts, spec_obj, counts_room=lambda: None):
    """Put on record that Placement offers a request no host.

    hosts: HostSnapshot of all there are; None if that is not known.
    counts_room: function that returns whether Placement counts room for the
        amounts alone; None if that is not known.  Called where hosts report
        it.
    """
    kind, counts = None, ()
    if hosts is not None:
        every = hosts.block()
        record.funnel.step(0, codes.OFFERED, every.rows, every.rows[:0])
        counts = [('placement_not_offered', len(every))]
        kind = (codes.CONTRADICTION if _excludes_itself(spec_obj, ())
                else codes.STATE_STALE if record.state.lost
                else room_kind(record, (), every, spec_obj))
        if kind == codes.FILTERED_OUT and _asks_for_more(spec_obj):
            kind = None
        elif kind == codes.FILTERED_OUT and counts_room() is False:
            kind = codes.NO_CAPACITY
            record.reason += _CONTRADICTED
    record.refuse('placement_offers_none', kind, counts)


def _codes(record, filter_, name, hosts, spec_obj):
    """Return how many of the hosts that a rule rejects it does so by which
    code: {code: number}.
    """
    found = None if filter_ is None else _asked(
        record, filter_, 'codes', hosts, spec_obj)
    return found or {codes.of_rule(name, filter_): len(hosts)}


def _asked(record, filter_, method, hosts, spec_obj):
    """Return what a method of a filter returns of hosts; None if it fails."""
    try:
        with budget.Step('reason'):
            return getattr(filter_, method)(hosts, spec_obj)
    except Exception as error:
        # An answer must not fail over what is told with it.
        LOG.debug('%s has no %s: %r', type(filter_).__name__, method, error)
    return None


def _code(record, found):
    """Return the code of a refusal: of what ended it, or of most hosts.

    found: list of (code, number of hosts), of the hosts that the request may
        go to.
    """
    if any(claim.taken is None for claim in record.claims):
        return 'claim_unanswered'
    if any(code == 'claim_refused' for code, _ in found):
        return 'claim_refused'
    if not record.state.hosts:
        return 'database_unavailable' if record.state.lost else 'no_hosts'
    return found[0][0] if found else 'no_reason'


def _kind(record, code, filters, hosts, spec_obj):
    if _excludes_itself(spec_obj, filters) or _pin_is_out(record, filters,
                                                          spec_obj):
        return codes.CONTRADICTION
    if codes.stage(code) == codes.CLAIMS:
        return codes.RACED
    if record.state.lost or code == 'service_down':
        return codes.STATE_STALE
    return room_kind(record, filters, hosts.block(), spec_obj)


def _excludes_itself(spec_obj, filters):
    """Return whether what a request asks for excludes itself.

    Hints and server groups count as far as filters look at them.
    """
    ignored = {name.lower() for name in spec_obj.ignore_hosts or ()}
    named = {name.lower() for name in spec_obj.force_hosts or ()}
    wanted = spec_obj.requested_destination
    if wanted is not None and wanted.host is not None:
        named.add(wanted.host.lower())
    if named and named <= ignored:
        return True
    asked = {codes.of_rule('', filter_) for filter_ in filters}
    beside, apart = (_hinted(spec_obj, hint) if hint in asked else set()
                     for hint in ('same_host', 'different_host'))
    group = spec_obj.instance_group
    members = set() if group is None else {*(group.members or ())}
    policy = None if group is None else group.policy
    return bool(beside & apart
                or (policy == 'anti-affinity' and beside & members
                    and 'group_anti_affinity' in asked)
                or (policy == 'affinity' and apart & members
                    and 'group_affinity' in asked))


def _hinted(spec_obj, hint):
    uuids = spec_obj.get_scheduler_hint(hint)
    uuids = uuids if isinstance(uuids, list) else [uuids]
    return {uuid for uuid in uuids if isinstance(uuid, str)}


def _pin_is_out(record, filters, spec_obj):
    """Return whether a request is bound to a host that it excludes by
    another wish.
    """
    wanted = spec_obj.requested_destination
    if wanted is None or wanted.host is None:
        return False
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    out = [name for name, _ in record.funnel.rejected()
           if name not in (narrowing.DESTINATION, codes.OFFERED)]
    return bool(out) and codes.of_rule(
        out[-1], by_name.get(out[-1])) in _WISHES


def room_kind(record, filters, hosts, spec_obj):
    """Return the kind of a refusal by where there is room.

    By the amounts that filters compare; where none does, by the RAM, VCPUs
    and disk that compute nodes report.
    hosts: HostBlock of all hosts.
    """
    found = _figures(record, filters, hosts, spec_obj)
    if not any(figure.kind in (figures.LEFT, figures.EXACT)
               for figure in found):
        found += _figures(record, _COUNTED_ELSEWHERE, hosts, spec_obj)
    if np.all([figure.suffices for figure in found], axis=0).any():
        return codes.FILTERED_OUT
    in_all = [figure.suffices for figure in found
              if figure.kind == figures.TOTAL]
    if in_all and len(hosts) and not np.all(in_all, axis=0).any():
        return codes.TOO_LARGE
    if all(figure.have[figure.have > 0].sum() >= figure.need
           for figure in found if figure.kind != figures.TOTAL):
        return codes.FRAGMENTED
    return codes.NO_CAPACITY


def _asks_for_more(spec_obj):
    """Return whether Placement is asked for more than RAM, VCPUs and disk."""
    extra_specs = spec_obj.flavor.extra_specs or {}
    return bool(spec_obj.requested_resources) or any(
        name.startswith('resources') or name == 'hw:cpu_policy'
        for name in extra_specs)


def _figures(record, filters, hosts, spec_obj):
    """Return the amounts that filters compare: list of Figure."""
    return [figure for filter_ in filters for figure in _asked(
        record, filter_, 'figures', hosts, spec_obj) or ()]
