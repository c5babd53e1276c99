"""The metrics that the monitors of a compute node report."""

import dataclasses
import functools
import math

from nova_sched.hardware import reports
from nova_sched.objects import fields
from nova_sched.objects import monitor_metric

_COLUMN = 'metrics'


@dataclasses.dataclass(frozen=True)
class HostMetrics:
    """The metrics of a host, parsed at the first access.

    text: JSON text of the list of metrics, as in the host's row, or None.
    Immutable; objects with equal texts are equal.  Invalid text counts as no
    metrics, with one warning for each distinct cause.
    """

    text: str | None = None

    @functools.cached_property
    def values(self):
        """The values that are single numbers: {name: float}.

        The last of several metrics with the same name counts.
        """
        values = {}
        for metric in self.listed():
            name, value = _read(metric)
            if value is not None:
                values[name] = value
        return values

    def value(self, name):
        """Return the value of a metric; NaN if it has none."""
        return self.values.get(name, math.nan)

    def objects(self):
        """Return the metrics with a name, for plug-ins: MonitorMetricList."""
        return monitor_metric.MonitorMetricList.holding(
            map(monitor_metric.MonitorMetric.known, self._named))

    @functools.cached_property
    def _named(self):
        """The fields of each metric that has a name, in reported order."""
        return tuple(_fields(metric) for metric in self.listed()
                     if isinstance(metric, dict)
                     and isinstance(metric.get('name'), str))

    def listed(self):
        """Return the metrics as reported: list."""
        if not self.text:
            return []
        return reports.read(_COLUMN, self.text, _as_list, [])


def column(hosts, name):
    """Return the values of a metric for a HostBlock: float64 (n,).

    NaN for hosts without the metric.
    """
    return hosts.derived('metrics', name,
                         lambda metrics: metrics.value(name))


def _read(metric):
    """Return the name and the value of a reported metric: (str, float).

    (None, None) without a valid value.  As in Nova the value is truncated to
    an integer: 0.29 is 28 percent.
    """
    try:
        name, value = metric['name'], metric.get('value')
        if value is None:       # as for numa_membw_values
            return None, None
        if name in monitor_metric.PERCENTS:
            value = float(value) * 100
        return name, float(int(value))
    except (AttributeError, LookupError, OverflowError, TypeError,
            ValueError):
        reports.warn_once(_COLUMN, _fault(metric))
        return None, None


def _fields(metric):
    """Return the fields of MonitorMetric that a reported metric has: dict.

    The value is an integer, in percent for fractions; the time is in UTC.
    """
    number = _read(metric)[1]
    values = {'name': metric['name'],
              'value': None if number is None else int(number),
              'numa_membw_values': metric.get('numa_membw_values'),
              'timestamp': _moment(metric.get('timestamp')),
              'source': metric.get('source')}
    return {name: value for name, value in values.items()
            if value is not None}


def _moment(text):
    """Return a timestamp as an aware datetime in UTC; None if invalid."""
    try:
        return fields.DATETIME.read(text)
    except fields.MalformedError:
        return None


def _fault(metric):
    """Return the cause of an invalid metric, a text without its value."""
    name = metric.get('name') if isinstance(metric, dict) else None
    if not isinstance(name, str):
        return 'a metric without a name'
    return f'the value of {name:.40} is no number'


def _as_list(value):
    if not isinstance(value, list):
        raise reports.UnreadableError('no list of metrics')
    return value
