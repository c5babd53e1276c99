"""AggregateInstanceExtraSpecsFilter: aggregates with what the flavor asks."""

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import phrases
from nova_sched.scheduler import filters
from nova_sched.scheduler.filters import extra_specs_ops

LOG = logging.getLogger(__name__)

_SCOPE = 'aggregate_instance_extra_specs'


class AggregateInstanceExtraSpecsFilter(filters.ColumnFilter):
    """Hosts whose aggregates meet the flavor's extra specs.

    An extra spec of the scope ``aggregate_instance_extra_specs``, or of none,
    names a metadata key; one of its values, which are split at commas, must
    meet the requirement.  Operators: extra_specs_ops.  Extra specs of other
    scopes are somebody else's.

    Raises InvalidInput when a numeric operator meets no number among values
    none of which meets the requirement, and for ``<or>`` without an
    alternative, on a host that no other extra spec rejects.
    """

    code = 'aggregate_extra_specs'
    logs_rejected = True
    run_filter_once_per_request = True
    inputs = ('aggregates',)

    def mask(self, hosts, spec_obj):
        wanted = requirements(spec_obj)
        if not wanted:
            return np.ones(len(hosts), dtype=np.bool_)
        passes = hosts.judge('aggregates', lambda aggregates: (
            _unmet(aggregates, wanted) is None))
        for state in filters.rejected(LOG, hosts, passes):
            _log(state, *_unmet(state.aggregates, wanted))
        return passes

    def reason(self, hosts, spec_obj):
        wanted = requirements(spec_obj)
        unmet = phrases.unmet(hosts, 'aggregates', lambda aggregates: _unmet(
            aggregates, wanted))
        return phrases.Reason(
            phrases.some((_needed(*each) for each in wanted), '; '),
            text='; '.join(
                f'{_needed(key, required)}, hosts have {phrases.listed(found)}'
                for (key, required), found in unmet.items()))


def requirements(spec_obj):
    """Return what a request asks of aggregates: list of (key, requirement)."""
    wanted = []
    for name, required in (spec_obj.flavor.extra_specs or {}).items():
        scope, colon, key = name.partition(':')
        if not colon:
            wanted.append((name, required))
        elif scope == _SCOPE:
            wanted.append((key, required))
    return wanted


def _needed(key, required):
    return (f'aggregate metadata {phrases.shortened(key)} '
            f"'{phrases.shortened(required)}' needed")


def _unmet(aggregates, wanted):
    """Return the first requirement that is not met, or None.

    Returns (key, requirement, set of the values found).
    """
    failure = None
    for key, required in wanted:
        found = aggregate_values.pieces(aggregates, key)
        try:
            if not _meets(key, found, required):
                return key, required, found
        except exception.InvalidInput as exc:
            failure = exc
    if failure is not None:
        raise failure
    return None


def _meets(key, values, required):
    """Return whether any value meets a requirement, in whatever order they
    come.
    """
    failure = None
    for value in values:
        try:
            if extra_specs_ops.match_key(key, value, required):
                return True
        except exception.InvalidInput as exc:
            failure = exc
    if failure is not None:
        raise failure
    return False


def _log(state, key, required, found):
    if found:
        LOG.debug("%(host)s fails flavor extra_specs requirements. "
                  "'%(values)s' do not match '%(required)s'%(in_queens)s",
                  {'host': state, 'values': sorted(found),
                   'required': required, 'in_queens': phrases.IN_QUEENS})
    else:
        LOG.debug('%(host)s fails flavor extra_specs requirements. '
                  'Extra_spec %(key)s is not in aggregate.%(in_queens)s',
                  {'host': state, 'key': key,
                   'in_queens': phrases.IN_QUEENS})
