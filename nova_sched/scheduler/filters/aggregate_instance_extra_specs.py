"""AggregateInstanceExtraSpecsFilter: extra specs met by aggregates."""

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
    """Hosts with aggregates that meet the flavor's extra specs.

    An extra spec without scope, or with the scope
    ``aggregate_instance_extra_specs``, names a metadata key.  One of the
    comma-separated values must meet the requirement (see extra_specs_ops).
    Extra specs of other scopes are ignored.

    Raises InvalidInput if a numeric operator is applied to a value that is not
    a number and no other value meets the requirement, and for ``<or>`` without
    alternatives.  A host that another extra spec rejects raises nothing.
    """

    code = 'aggregate_extra_specs'
    logs_rejected = True
    run_filter_once_per_request = True
    inputs = ('aggregates',)

    def mask(self, hosts, spec_obj):
        required = requirements(spec_obj)
        if not required:
            return np.ones(len(hosts), dtype=np.bool_)
        passes = hosts.evaluate('aggregates', lambda aggregates: (
            _unmet(aggregates, required) is None))
        for state in filters.rejected(LOG, hosts, passes):
            _log(state, *_unmet(state.aggregates, required))
        return passes

    def reason(self, hosts, spec_obj):
        required = requirements(spec_obj)
        unmet = phrases.unmet(hosts, 'aggregates', lambda aggregates: _unmet(
            aggregates, required))
        return phrases.Reason(
            phrases.some((_needed(*item) for item in required), '; '),
            text='; '.join(
                f'{_needed(key, requirement)}, hosts have '
                f'{phrases.listed(values)}'
                for (key, requirement), values in unmet.items()))


def requirements(spec_obj):
    """Return a request's requirements: list of (metadata key, requirement)."""
    required = []
    for name, requirement in (spec_obj.flavor.extra_specs or {}).items():
        scope, colon, key = name.partition(':')
        if not colon:
            required.append((name, requirement))
        elif scope == _SCOPE:
            required.append((key, requirement))
    return required


def _needed(key, required):
    return (f'aggregate metadata {phrases.shortened(key)} '
            f"'{phrases.shortened(required)}' needed")


def _unmet(aggregates, required):
    """Return the first requirement that is not met, or None.

    Returns key, requirement, and set of the aggregates' values.
    """
    failure = None
    for key, requirement in required:
        values = aggregate_values.split_values(aggregates, key)
        try:
            if not _meets(key, values, requirement):
                return key, requirement, values
        except exception.InvalidInput as exc:
            failure = exc
    if failure is not None:
        raise failure
    return None


def _meets(key, values, required):
    """Return whether any value meets a requirement, in any order."""
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


def _log(state, key, required, values):
    if values:
        LOG.debug("%(host)s fails flavor extra_specs requirements. "
                  "'%(values)s' do not match '%(required)s'%(in_queens)s",
                  {'host': state, 'values': sorted(values),
                   'required': required, 'in_queens': phrases.IN_QUEENS})
    else:
        LOG.debug('%(host)s fails flavor extra_specs requirements. '
                  'Extra_spec %(key)s is not in aggregate.%(in_queens)s',
                  {'host': state, 'key': key,
                   'in_queens': phrases.IN_QUEENS})
