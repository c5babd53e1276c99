"""ComputeFilter: where a compute service is there to build it."""

from oslo_log import log as logging

from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: Hosts that are named in warnings of one request; the rest is counted.
NAMED = 10


class ComputeFilter(filters.ColumnFilter):
    """Hosts whose compute service is enabled and up.

    A service is up when it is not forced down and its last heartbeat is at
    most ``[DEFAULT] service_down_time`` seconds away from now.
    """

    run_filter_once_per_request = True

    def mask(self, hosts, spec_obj):
        enabled = ~hosts.service_disabled
        passes = enabled & hosts.service_up
        if LOG.isEnabledFor(logging.DEBUG):
            for state in hosts.where(~enabled).states():
                LOG.debug('%(host)s is disabled, reason: %(reason)s',
                          {'host': state, 'reason': state.service.get(
                              'disabled_reason')})
        down = hosts.where(enabled & ~hosts.service_up)
        for row in down.rows[:NAMED].tolist():
            LOG.warning('%(host)s has not been heard from in a while',
                        {'host': hosts.snapshot.state(row)})
        if len(down) > NAMED:
            LOG.warning('%(count)d more hosts have not been heard from in a '
                        'while', {'count': len(down) - NAMED})
        return passes

    def reason(self, hosts, spec_obj):
        disabled = int(hosts.service_disabled.sum())
        down = len(hosts) - disabled
        if not disabled or not down:
            return 'service disabled' if disabled else 'service down'
        return f'{down} service down, {disabled} service disabled'
