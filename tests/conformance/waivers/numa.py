"""Explained differences of NUMA answers."""

from tests.conformance import as_queens
from tests.conformance.waivers import facts

_FILTER = 'NUMATopologyFilter'


def _no_image(difference):
    """Nova reads properties of a missing image."""
    if difference.spec['image'] is not None:
        return None
    raising = facts.raising(difference)
    if (raising is None or raising[0] != _FILTER or not raising[1]
            or difference.expected['error'] != 'AttributeError'):
        return None
    return f'{facts.RAISED}: a request without an image'


def _rebuild(difference):
    """Queens filters rebuilds, too; then our answer is the same."""
    if not difference.is_queens or difference.name != _FILTER:
        return None
    changed = difference.changed()
    changed['config']['filter_scheduler'] = as_queens.with_filters(
        changed['config'].get('filter_scheduler', {}),
        [as_queens.NUMATopologyFilter])
    if difference.ask(changed):
        return 'newer answer: NUMA is not judged on rebuilds'
    return None


FILTERS = (_no_image, _rebuild)
