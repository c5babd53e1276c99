"""Overcommit ratios and addresses with which Nova fails."""

import re

from nova_sched.rules import aggregates as aggregate_values
from tests.conformance.waivers import facts

#: Filter -> aggregate metadata key of its ratio, or None.
_RATIOS = {'RamFilter': None, 'AggregateRamFilter': 'ram_allocation_ratio',
           'DiskFilter': None, 'AggregateDiskFilter': 'disk_allocation_ratio'}

_NEAR = 'build_near_host_ip'


def _no_ratio(difference):
    """A host that never reported its usage has no ratio.

    Nova reads it only for a request that needs none of the resource.
    """
    raising = facts.raising(difference)
    if (raising is None or raising[0] not in _RATIOS
            or difference.expected['error'] != 'TypeError'):
        return None
    name, states, passing = raising
    unreported = difference.never_reported()
    for state in states:
        place = [state.host, state.nodename]
        if (place in unreported and place in passing
                and not _has_ratio(state, _RATIOS[name])):
            return f'{facts.RAISED}: a host that never reported its usage'
    return None


def _has_ratio(state, key):
    found = aggregate_values.values(state.aggregates, key)
    return aggregate_values.number(found, key, None, float) is not None


def _no_limit(difference):
    """With an infinite ratio Nova fails later, when it sends the limit.

    Our answer is the recorded one without infinite limits.
    """
    recorded = difference.case.get('limits', {}).get(difference.name, {})
    finite = {host: {name: limit for name, limit in limits.items()
                     if limit not in ('inf', '-inf', 'nan')}
              for host, limits in recorded.items()}
    if finite == recorded:
        return None
    changed = difference.changed()
    changed['limits'][difference.name] = {
        host: limits for host, limits in finite.items() if limits}
    if difference.ask(changed):
        return 'an infinite ratio is no limit, and cannot be sent as one'
    return None


def _no_address(difference):
    """A host without an address is near no other host."""
    raising = facts.raising(difference)
    if (raising and raising[0] == 'SimpleCIDRAffinityFilter'
            and difference.expected['error'] in ('TypeError',
                                                 'AddrFormatError')
            and (difference.spec.get('scheduler_hints') or {}).get(_NEAR)
            and any(state.host_ip is None for state in raising[1])):
        return f'{facts.RAISED}: a host without an address'
    return None


def _short_address(difference):
    """Queens reads 10.0 as 10.0.0.0; with that our answer is the same."""
    if (not difference.is_queens
            or 'SimpleCIDRAffinityFilter' not in difference.rules
            or not facts.is_error(difference.got, 'InvalidInput')):
        return None
    hints = difference.spec.get('scheduler_hints') or {}
    short = ''.join(hints.get(_NEAR) or ())
    if not re.fullmatch(r'\d+(\.\d+){0,2}', short):
        return None
    changed = difference.changed()
    facts.data(changed)['scheduler_hints'][_NEAR] = [
        '.'.join((short.split('.') + ['0'] * 3)[:4])]
    if difference.ask(changed):
        return 'newer answer: a shortened address is none'
    return None


FILTERS = (_no_ratio, _no_limit, _no_address, _short_address)
