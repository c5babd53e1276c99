"""ComputeFilter: where a compute service is there to build it."""

import numpy as np
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: Hosts that are named in warnings of one request; the rest is counted.
NAMED = 10


class ComputeFilter(filters.ColumnFilter):
    """Hosts whose compute service is enabled and up.

    A service is up when it is not forced down and its last heartbeat is at
    most ``[DEFAULT] service_down_time`` seconds away from now.
    """

    code = 'service_down'
    logs_rejected = warns = True
    run_filter_once_per_request = True

    def configure(self, conf):
        self.down_time = config.service_down_time(conf)

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
            state = hosts.snapshot.state(row)
            if LOG.isEnabledFor(logging.DEBUG):
                _tell_silence(state, hosts.snapshot.moment)
            LOG.warning('%(host)s has not been heard from in a while',
                        {'host': state})
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

    def codes(self, hosts, spec_obj):
        disabled = int(hosts.service_disabled.sum())
        found = {self.code: len(hosts) - disabled,
                 'service_disabled': disabled}
        return {code: count for code, count in found.items() if count}

    def why_not(self, host_state, spec_obj):
        service = host_state.block()
        if service.service_disabled[0]:
            why = host_state.service['disabled_reason']
            return f'service disabled: {why}' if why else 'service disabled'
        if service.service_forced_down[0]:
            return 'service forced down'
        last = service.service_last_seen.item(0)
        heard = (f'last heard at {np.datetime64(int(last), "s")}Z' if last
                 else 'never heard')
        return f'service down, {heard}, limit {self.down_time} s'


def _tell_silence(state, now):
    """Tell when a host's service was last heard of; now may be None."""
    host = state.block()
    seen = host.service_last_seen.item(0)
    if now and seen and not host.service_forced_down[0]:
        LOG.debug('Seems service nova-compute on host %(host)s is down. Last '
                  'heartbeat was %(seen)s. Elapsed time is %(elapsed)s',
                  {'host': state.host,
                   'seen': np.datetime64(int(seen), 's').item(),
                   'elapsed': now - seen})
