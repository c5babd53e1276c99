"""Whole runs and chains that equal the recorded ones with Nova's rules.

Our rules are replaced, one after another, by plug-ins that decide as Queens or
raise like Nova, until the answer is the recorded one; if it never is, nothing
is waived.
"""

import itertools

from nova_sched.scheduler import weights
from tests.conformance import as_queens
from tests.conformance import as_raised
from tests.conformance.waivers import facts
from tests.conformance.waivers import raised

_WEIGHTS = ('weights: no negative free resources, multipliers of aggregates, '
            'no memory of other weighings, picks of the same request count')
_FILLED_IN = 'a host that never reported its usage has ratios and a node name'
_FORGETS = ('what was placed without a claim in Placement counts until its '
            'instance shows on the host')
_NODE = 'a destination without a node is all its nodes'

#: Differences that no plug-in can remove.
_REST = (raised._order_of_extra_specs, raised._selected_without_uuid)

#: Questions about several rules, or about a rule that reads all of a host.
_ASKED = {'chain', *(cls.__name__ for cls in as_raised.SILENT_FILTERS)}

#: Greatest number of changes that are tried in all combinations.
_FEW = 6


def _by_the_rules_of_nova(difference):
    """Return the fewest of our rules that make the difference, in words."""
    if difference.name not in _ASKED and (
            difference.case['kind'] != 'schedule'):
        return None
    changes = list(_changes(difference))
    for chosen in _combinations(changes):
        changed = difference.changed()
        for _, change in chosen:
            change(changed)
        rest = difference.of(changed)
        words = [words for words, _ in chosen]
        if facts.same(difference.expected, rest.got):
            return '; '.join(words)
        for rule in _REST:
            text = rule(rest)
            if text:
                return '; '.join([*words, text])
    return None


def _combinations(items):
    """Combinations of items, small ones first: an iterator."""
    sizes = (range(1, len(items) + 1) if len(items) <= _FEW
             else (1, 2, len(items)))
    return itertools.chain.from_iterable(
        itertools.combinations(items, size) for size in sizes)


def _changes(difference):
    """Yield (words for the waiver, function that changes a case)."""
    if difference.is_queens and difference.case['kind'] == 'schedule':
        yield f'newer answer: {_WEIGHTS}', _weighers
    if facts.is_error(difference.expected):
        yield from _raising(difference)
    if difference.never_reported():
        for cls in as_raised.SILENT_FILTERS:
            if cls.__name__ in difference.rules:
                yield _FILLED_IN, _filter(cls)
    if difference.is_queens:
        yield from _newer(difference)
    if ('requests' in difference.case
            and difference.case['driver'] == 'filter_scheduler'):
        yield _FORGETS, _forgetting


def _raising(difference):
    for name, cls in as_raised.FILTERS:
        # Queens ignores address bits.
        if cls.__name__ in difference.rules and not (
                difference.is_queens
                and cls is as_raised.ImagePropertiesFilter):
            yield f'{facts.RAISED}: {name}', _filter(cls)
    if difference.case['kind'] == 'schedule' and _weighs_cpus(
            difference.case):
        yield f'{facts.RAISED}: {as_raised.UNREPORTED}', _raising_weigher


def _newer(difference):
    for name, cls in as_queens.FILTERS.items():
        if cls.__name__ in difference.rules:
            yield f'newer answer: {name}', _filter(cls)
    if _names_no_node(difference.case):
        yield f'newer answer: {_NODE}', _no_such_node


def _weighers(case):
    options = case['config'].setdefault('filter_scheduler', {})
    case['config']['filter_scheduler'] = as_queens.with_weighers(options)


_ALL_WEIGHERS = f'{weights.__name__}.all_weighers'


def _weighs_cpus(case):
    options = case['config'].get('filter_scheduler', {})
    return case['era'] != 'queens' and any(
        path.endswith(('all_weighers', '.CPUWeigher'))
        for path in options.get('weight_classes', [_ALL_WEIGHERS]))


def _raising_weigher(case):
    options = case['config'].setdefault('filter_scheduler', {})
    options['weight_classes'] = [
        *options.get('weight_classes', [_ALL_WEIGHERS]),
        as_queens.path(as_raised.NeverReportedWeigher)]


def _filter(cls):
    def change(case):
        options = case['config'].get('filter_scheduler', {})
        case['config']['filter_scheduler'] = as_queens.with_filters(
            options, [cls])
    return change


def _forgetting(case):
    """Forget all picks before each request, as Nova's filter scheduler."""
    case['forgets'] = True


def _names_no_node(case):
    wanted = 'request_spec' in case and facts.data(case).get(
        'requested_destination')
    wanted = wanted and wanted['nova_object.data']
    return wanted and wanted.get('host') and not wanted.get('node')


def _no_such_node(case):
    """Compare nodes with the name 'None', as Queens."""
    wanted = facts.data(case)['requested_destination']['nova_object.data']
    wanted['node'] = 'None'


FILTERS = SCHEDULE = (_by_the_rules_of_nova,)
