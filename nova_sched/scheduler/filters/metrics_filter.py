"""MetricsFilter: hosts that report the metrics of MetricsWeigher."""

import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import metrics as host_metrics
from nova_sched.options import settings
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class MetricsFilter(filters.ColumnFilter):
    """Hosts that report every metric of ``[metrics] weight_setting``.

    Without the filter, a host that lacks a metric may make MetricsWeigher fail
    the request.
    """

    code = 'metrics'
    logs_rejected = True
    inputs = ('metrics',)

    def configure(self, conf):
        ratios, _unreadable = settings.parse_weights(
            conf.metrics.weight_setting)
        self.names = frozenset(name for name, _ratio in ratios)

    def mask(self, hosts, spec_obj):
        passes = np.ones(len(hosts), dtype=np.bool_)
        for name in self.names:
            passes &= ~np.isnan(host_metrics.column(hosts, name))
        for state in filters.rejected(LOG, hosts, passes):
            metrics, = state.block().objects('metrics')
            LOG.debug('%(host)s does not have the following metrics: '
                      '%(missing)s', {
                          'host': state,
                          'missing': ', '.join(self._missing(metrics))})
        return passes

    def _missing(self, metrics):
        return sorted(self.names - metrics.values.keys())

    def reason(self, hosts, spec_obj):
        missing = phrases.distinct(hosts, 'metrics', self._missing)
        reported = phrases.distinct(hosts, 'metrics',
                                    lambda metrics: metrics.values)
        # Callers must not see which metrics are needed, which is an option.
        return phrases.Reason(
            hosts=f'metrics {phrases.listed(missing)} needed, '
                  f'hosts report {phrases.listed(reported)}')
