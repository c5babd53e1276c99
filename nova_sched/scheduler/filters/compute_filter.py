"""ComputeFilter: hosts with an enabled compute service that is up."""

import numpy as np
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: Maximum number of hosts that warnings of one request name.
NAMED = 10
#: Seconds between two warnings that name the same host.
SILENCE = 60


class ComputeFilter(filters.ColumnFilter):
    """Hosts with an enabled compute service that is up.

    A service is up when it is not forced down and its last heartbeat is at
    most ``[DEFAULT] service_down_time`` seconds away from now.
    """

    code = 'service_down'
    logs_rejected = True
    run_filter_once_per_request = True
    inputs = ('service_disabled', 'service_up')

    #: HostTable.hosts, and the time of the last warning about each host.
    _named = None, np.zeros(0)

    def configure(self, conf):
        self.down_time = config.service_down_time(conf)

    def mask(self, hosts, spec_obj):
        enabled = ~hosts.service_disabled
        passes = enabled & hosts.service_up
        for state in filters.rejected(LOG, hosts, enabled):
            LOG.debug('%(host)s is disabled, reason: %(reason)s',
                      {'host': state, 'reason': state.service.get(
                          'disabled_reason')})
        self._warn(hosts.where(enabled & ~hosts.service_up))
        return passes

    def _warn(self, down):
        """Log warnings about a HostBlock of hosts that are down.

        At DEBUG, each request warns, also about hosts that were named before.
        """
        is_debug = LOG.isEnabledFor(logging.DEBUG)
        if not is_debug and down.snapshot.moment is not None:
            down = down.where(self._unnamed(down))
        for row in down.rows[:NAMED].tolist():
            state = down.snapshot.state(row)
            if is_debug:
                _log_silence(state, down.snapshot.moment)
            LOG.warning('%(host)s has not been heard from in a while',
                        {'host': state})
        if len(down) > NAMED:
            LOG.warning('%(count)d more hosts have not been heard from in a '
                        'while', {'count': len(down) - NAMED})

    def _unnamed(self, down):
        """Return which hosts no recent warning has named: bool (n,).

        Records that a warning now names them.
        """
        (known, named), now = self._named, down.snapshot.moment
        table = down.snapshot.table
        if known is not table.hosts:
            named = np.full(table.size, -np.inf)
            self._named = table.hosts, named
        # The clock may have been set back.
        unnamed = np.abs(now - named[down.rows]) >= SILENCE
        named[down.rows[unnamed]] = now
        return unnamed

    def reason(self, hosts, spec_obj):
        disabled = int(hosts.service_disabled.sum())
        down = len(hosts) - disabled
        if not disabled or not down:
            return 'service disabled' if disabled else 'service down'
        return f'{down} service down, {disabled} service disabled'

    def codes(self, hosts, spec_obj):
        disabled = int(hosts.service_disabled.sum())
        counts = {self.code: len(hosts) - disabled,
                  'service_disabled': disabled}
        return {code: count for code, count in counts.items() if count}

    def why_not(self, host_state, spec_obj):
        service = host_state.block()
        if service.service_disabled[0]:
            why = host_state.service['disabled_reason']
            return f'service disabled: {why}' if why else 'service disabled'
        if service.service_forced_down[0]:
            return 'service forced down'
        last = _last_heard(service)
        heard = (f'last heard at {np.datetime64(int(last), "s")}Z' if last
                 else 'never heard')
        return f'service down, {heard}, limit {self.down_time} s'


def _last_heard(host):
    """Return the time of a service's last known heartbeat.

    host: HostBlock of one row.
    Returns seconds since the epoch, 0.0 for never.  If heartbeats are not
    read, the time when the service was read as up.
    """
    seen = host.service_last_seen.item(0)
    if host.service_fresh[0]:
        return host.snapshot.cells.first_read(seen)
    return seen


def _log_silence(state, now):
    """Log the time of the last heartbeat of a host's service.

    now: time of the request in seconds since the epoch, or None.
    """
    host = state.block()
    seen = _last_heard(host)
    if now and seen and not host.service_forced_down[0]:
        LOG.debug('Seems service nova-compute on host %(host)s is down. Last '
                  'heartbeat was %(seen)s. Elapsed time is %(elapsed)s',
                  {'host': state.host,
                   'seen': np.datetime64(int(seen), 's').item(),
                   'elapsed': now - seen})
