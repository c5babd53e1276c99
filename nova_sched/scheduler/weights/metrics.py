"""MetricsWeigher: weighs metrics that compute nodes report."""

import numpy as np

from nova_sched import exception
from nova_sched.hosts import metrics as host_metrics
from nova_sched.options import settings
from nova_sched.scheduler import weights


class MetricsWeigher(weights.ColumnWeigher):
    """Weighs the sum of the metrics in ``[metrics] weight_setting``.

    Each metric is multiplied by its ratio.  If ``[metrics] required``, a host
    without one of the metrics fails the request with
    ComputeHostMetricNotFound.  Otherwise its raw value is
    ``weight_of_unavailable``, unless the metric's ratio or the host's
    multiplier is 0.
    """

    multiplier_name = 'metrics_weight_multiplier'
    inputs = ('metrics', 'aggregates')

    def configure(self, conf):
        self.multiplier = conf.metrics.weight_multiplier
        self.required = conf.metrics.required
        self.unavailable = conf.metrics.weight_of_unavailable
        self.ratios, _unreadable = settings.parse_weights(
            conf.metrics.weight_setting)

    def column(self, hosts, spec_obj):
        raw = np.zeros(len(hosts))
        unavailable = np.zeros(len(hosts), dtype=np.bool_)
        for name, ratio in self.ratios:
            values = host_metrics.column(hosts, name)
            missing = np.isnan(values)
            if missing.any():
                if self.required:
                    raise _not_found(name, hosts.where(missing))
                unavailable |= missing & (
                    ratio * self.multipliers(hosts) != 0)
            raw += np.where(missing, 0.0, values * ratio)
        raw[unavailable] = self.unavailable
        return raw


def _not_found(name, hosts):
    first = hosts.states()[0]
    return exception.ComputeHostMetricNotFound(
        name=name, host=first.host, node=first.nodename)
