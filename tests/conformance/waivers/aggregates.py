"""Explained differences about aggregates and metrics."""

from nova_sched.options import settings
from tests.conformance import as_queens
from tests.conformance.waivers import facts


def _one_key_of_tenants(difference):
    """Queens reads only filter_tenant_id; then our answer is the same."""
    rule = as_queens.AggregateMultiTenancyIsolation
    if not (difference.is_queens and difference.name == rule.__name__):
        return None
    changed = difference.changed()
    changed['config']['filter_scheduler'] = as_queens.with_filters(
        changed['config'].get('filter_scheduler', {}), [rule])
    if difference.ask(changed):
        return 'newer answer: all keys that begin with filter_tenant_id'
    return None


def _no_metrics(difference):
    """A host that never reported its usage has no list of metrics.

    MetricsFilter reads it even if no metric is configured; all other hosts
    must have equal verdicts.
    """
    raising = facts.raising(difference)
    if (raising is None or raising[0] != 'MetricsFilter'
            or difference.expected['error'] != 'TypeError'):
        return None
    _, states, passing = raising
    ratios, _ = settings.parse_weights(
        difference.case['config'].get('metrics', {}).get(
            'weight_setting', []))
    wanted = {name for name, _ in ratios}
    reporting = [[state.host, state.nodename] for state in states
                 if wanted <= {metric.name for metric in state.metrics}]
    unreported = [state for state in states if [
        state.host, state.nodename] in difference.never_reported()]
    if unreported and sorted(reporting) == passing:
        return f'{facts.RAISED}: a host that never reported its usage'
    return None


FILTERS = (_one_key_of_tenants, _no_metrics)
