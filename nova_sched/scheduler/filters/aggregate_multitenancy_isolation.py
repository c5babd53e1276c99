"""AggregateMultiTenancyIsolation: reserves aggregates for projects."""

from oslo_log import log as logging

from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

_PREFIX = 'filter_tenant_id'


class AggregateMultiTenancyIsolation(filters.ColumnFilter):
    """Hosts that are not reserved for other projects.

    A host is reserved for the projects in its aggregates' metadata: the
    comma-separated values of all keys that begin with ``filter_tenant_id``.
    These projects may use other hosts, too.
    """

    code = 'tenant'
    logs_rejected = True
    run_filter_once_per_request = True
    inputs = ('aggregates',)

    def mask(self, hosts, spec_obj):
        project = spec_obj.project_id
        passes = hosts.evaluate('aggregates', lambda aggregates: _takes(
            _projects(aggregates), project))
        if LOG.isEnabledFor(logging.DEBUG):
            _log(hosts, passes, project)
        return passes

    def reason(self, hosts, spec_obj):
        taken = phrases.distinct(hosts, 'aggregates', _projects)
        project = f"project '{spec_obj.project_id}'"
        return phrases.Reason(
            project, text=f'{project} is not among those of its aggregates: '
            f'{phrases.listed(taken)}')


def _projects(aggregates):
    """Return the projects that aggregates are reserved for: set of texts."""
    return aggregate_values.split_values_by_prefix(aggregates, _PREFIX)


def _takes(projects, project):
    return not projects or project in projects


def _log(hosts, passes, project):
    for state, takes in zip(hosts.states(), passes.tolist(), strict=True):
        if not takes:
            LOG.debug('%s fails tenant id on aggregate', state)
        elif _projects(state.aggregates):
            LOG.debug('Host tenant id %s matched', project)
        else:
            LOG.debug("No tenant id's defined on host. Host passes.")
