"""What the monitors of a compute node have measured."""

import dataclasses
import datetime
import functools
import math

from nova_sched.hardware import reports
from nova_sched.objects import fields
from nova_sched.objects import monitor_metric

_COLUMN = 'metrics'


@dataclasses.dataclass(frozen=True)
class Metric:
    """One metric, under the names of Nova's MonitorMetric.

    value: a whole number, of percents for fractions; None if it has none.
    numa_membw_values: NUMA node (text) -> memory bandwidth, or None.
    timestamp: aware datetime, in UTC; source: the monitor; None if unknown.
    """

    name: str
    value: int | None = None
    numa_membw_values: dict | None = None
    timestamp: datetime.datetime | None = None
    source: str | None = None

    @classmethod
    def of(cls, metric):
        """Return the metric that a dict is, as it is reported, with a name."""
        number = _read(metric)[1]
        return cls(metric['name'], None if number is None else int(number),
                   metric.get('numa_membw_values'),
                   _moment(metric.get('timestamp')), metric.get('source'))


@dataclasses.dataclass(frozen=True)
class HostMetrics:
    """The metrics of a host, read when first asked for.

    text: JSON text of the list of metrics, as in the host's row, or None.
    Immutable; equal texts make equal metrics.  Text that cannot be read
    counts as no metrics, with one warning for each distinct cause.
    """

    text: str | None = None

    @functools.cached_property
    def values(self):
        """Whole numbers by name, as floats: dict.

        A metric without one number as its value is not in it; of two with
        one name the later one counts.
        """
        found = {}
        for metric in self.listed():
            name, value = _read(metric)
            if value is not None:
                found[name] = value
        return found

    def value(self, name):
        """Return the value of a metric; NaN where there is none."""
        return self.values.get(name, math.nan)

    @functools.cached_property
    def metrics(self):
        """Those that have a name, as they were reported: tuple of Metric."""
        return tuple(Metric.of(metric) for metric in self.listed()
                     if isinstance(metric, dict)
                     and isinstance(metric.get('name'), str))

    def objects(self):
        """Return the same for plug-ins, who may change them:
        MonitorMetricList.
        """
        return monitor_metric.MonitorMetricList.holding(
            monitor_metric.MonitorMetric.known({
                name: value for name, value in vars(metric).items()
                if value is not None}) for metric in self.metrics)

    def listed(self):
        """Return the metrics as they were reported: list."""
        if not self.text:
            return []
        return reports.read(_COLUMN, self.text, _as_list, [])


def column(hosts, name):
    """Return one metric of each host of a HostBlock: float64 (n,), NaN
    without.
    """
    return hosts.derived('metrics', name,
                         lambda metrics: metrics.value(name))


def _read(metric):
    """Return the name and the value of a metric: (str, float).

    (None, None) for one without.  The value is truncated to a whole number as
    Nova does: 0.29 is 28 percent.
    """
    try:
        name, value = metric['name'], metric.get('value')
        if value is None:       # a table of memory bandwidths
            return None, None
        if name in monitor_metric.PERCENTS:
            value = float(value) * 100
        return name, float(int(value))
    except (AttributeError, LookupError, OverflowError, TypeError,
            ValueError):
        reports.warn_once(_COLUMN, _fault(metric))
        return None, None


def _moment(text):
    """Return a timestamp as an aware datetime, in UTC; None if it is none."""
    try:
        return fields.DATETIME.read(text)
    except fields.MalformedError:
        return None


def _fault(metric):
    """Return what is wrong with a metric, whatever its value is at the moment.
    """
    name = metric.get('name') if isinstance(metric, dict) else None
    if not isinstance(name, str):
        return 'a metric without a name'
    return f'the value of {name:.40} is no number'


def _as_list(value):
    if not isinstance(value, list):
        raise reports.UnreadableError('no list of metrics')
    return value
