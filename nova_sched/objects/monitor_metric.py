"""Metrics from the monitors of a host, for plug-ins."""

import json
import typing

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

#: Metrics that hosts report as fractions, and that are percents here.
PERCENTS = frozenset((
    'cpu.percent', 'cpu.user.percent', 'cpu.kernel.percent',
    'cpu.idle.percent', 'cpu.iowait.percent'))


class MetricItem(typing.NamedTuple):
    """Kilo's form of a metric, with the value as reported."""

    value: float | None
    timestamp: str | None
    source: str | None


@base.Registry.register
class MonitorMetric(base.NovaObject):
    """One metric: a value, or the memory bandwidths of NUMA nodes.

    value: in percents for ``PERCENTS``.  numa_membw_values: node -> number.
    """

    VERSION = '1.1'
    fields = {
        'name': Field(fields.TEXT),
        'value': Field(fields.INTEGER, null=True),
        'numa_membw_values': Field(fields.dict_of(fields.INTEGER), null=True,
                                   since='1.1'),
        'timestamp': Field(fields.DATETIME, null=True),
        'source': Field(fields.TEXT, null=True),
    }

    def to_dict(self):
        """Return the metric as reported: fractions, and the time as text.

        It contains ``value`` or ``numa_membw_values``.
        """
        metric = {'name': self.name, 'source': self.source,
                  'timestamp': self.timestamp and self.timestamp.strftime(
                      '%Y-%m-%dT%H:%M:%S.%f')}
        if self.value is None:
            return metric | {'numa_membw_values': self.numa_membw_values}
        return metric | {'value': self.value / 100.0 if self.name in PERCENTS
                         else self.value}


@base.Registry.register
class MonitorMetricList(base.NovaObjectList):
    """The metrics of a host.

    A list since Liberty. ``metrics['name']``, ``get`` and ``in`` also work
    with names, as with Kilo's dict of MetricItem.
    """

    VERSION = '1.1'
    fields = fields.objects_of(MonitorMetric)

    @classmethod
    def from_json(cls, metrics):
        """Return the metrics in a JSON text, in which PERCENTS are fractions.

        None and an empty text contain no metrics.
        Raises ValueError for text that is no JSON.
        """
        return cls(objects=[
            MonitorMetric(**metric | {
                'value': metric['value'] * 100 if metric['name'] in PERCENTS
                else metric['value']} if 'value' in metric else metric)
            for metric in (json.loads(metrics) if metrics else ())])

    def to_list(self):
        """Return the metrics as reported: list of dicts."""
        return [metric.to_dict() for metric in self.objects]

    def get(self, name, default=None):
        """Return the last MetricItem of a name, or the default."""
        return next((
            MetricItem(metric.get('value'), metric['timestamp'],
                       metric['source'])
            for metric in reversed(self.to_list())
            if metric['name'] == name), default)

    def __getitem__(self, index):
        if not isinstance(index, str):
            return super().__getitem__(index)
        metric = self.get(index)
        if metric is None:
            raise KeyError(index)
        return metric

    def __contains__(self, value):
        if isinstance(value, str):
            return self.get(value) is not None
        return super().__contains__(value)
