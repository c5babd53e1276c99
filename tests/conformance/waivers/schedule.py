"""Whole runs and chains of Queens that come out as recorded by its rules.

The newer rules are taken out one after another, by plug-ins that decide as
Queens did, until the answer is the recorded one; if it never is, nothing is
waived.
"""

from tests.conformance import as_queens
from tests.conformance.waivers import facts

_WEIGHTS = ('weights: no negative free resources, multipliers of aggregates, '
            'no memory of other weighings, picks of the same request count')
_NODE = 'a destination without a node is all its nodes'


def _by_the_rules_of_queens(difference):
    """Says which newer rules make the difference, the fewest there are."""
    if not difference.is_queens or difference.name not in (
            'chain', *_families(difference)):
        return None
    changes = list(_changes(difference))
    for chosen in [[change] for change in changes] + [changes]:
        changed = difference.changed()
        for _, change in chosen:
            change(changed)
        if chosen and difference.ask(changed):
            return 'newer answer: ' + '; '.join(name for name, _ in chosen)
    return None


def _families(difference):
    return [difference.name] if difference.case['kind'] == 'schedule' else []


def _changes(difference):
    """Yields (what is newer, function that takes it out of a case)."""
    if difference.case['kind'] == 'schedule':
        yield _WEIGHTS, _weighers
    for name, cls in as_queens.FILTERS.items():
        if cls.__name__ in difference.rules:
            yield name, _filter(cls)
    if 'request_spec' in difference.case:
        wanted = difference.spec.get('requested_destination')
        wanted = wanted and wanted['nova_object.data']
        if wanted and wanted.get('host') and not wanted.get('node'):
            yield _NODE, _no_such_node


def _weighers(case):
    options = case['config'].setdefault('filter_scheduler', {})
    case['config']['filter_scheduler'] = as_queens.with_weighers(options)


def _filter(cls):
    def change(case):
        options = case['config']['filter_scheduler']
        others = [path.rsplit('.', 1)[-1] for path
                  in options.get('available_filters', ())[1:]]
        case['config']['filter_scheduler'] = as_queens.with_filters(
            options, [*(one for one in as_queens.FILTERS.values()
                        if one.__name__ in others), cls])
    return change


def _no_such_node(case):
    """Queens compares a node of None with the nodes' names."""
    wanted = facts.data(case)['requested_destination']['nova_object.data']
    wanted['node'] = 'None'


FILTERS = SCHEDULE = (_by_the_rules_of_queens,)
