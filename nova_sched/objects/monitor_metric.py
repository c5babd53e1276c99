"""What the monitors of a host measure, as plug-ins see it."""

import json
import typing

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

#: Metrics that are reported as fractions and count as whole percents.
PERCENTS = frozenset((
    'cpu.percent', 'cpu.user.percent', 'cpu.kernel.percent',
    'cpu.idle.percent', 'cpu.iowait.percent'))


class MetricItem(typing.NamedTuple):
    """A metric of a host, of Kilo: the value as it is reported."""

    value: float | None
    timestamp: str | None
    source: str | None


@base.Registry.register
class MonitorMetric(base.NovaObject):
    """One metric: a value, or the memory bandwidth of NUMA nodes.

    value: of ``PERCENTS`` in percents.  numa_membw_values: node -> number.
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
        """Return it as it is reported: PERCENTS as fractions, its time as
        text.

        It has ``value``, or else ``numa_membw_values``.
        """
        time = self.timestamp and self.timestamp.strftime(
            '%Y-%m-%dT%H:%M:%S.%f')
        found = {'name': self.name, 'timestamp': time, 'source': self.source}
        if self.value is None:
            return found | {'numa_membw_values': self.numa_membw_values}
        return found | {'value': self.value / 100.0 if self.name in PERCENTS
                        else self.value}


@base.Registry.register
class MonitorMetricList(base.NovaObjectList):
    """The metrics of a host.

    It is a list from Liberty on, and asked by a name what Kilo's dict of
    MetricItem was asked: ``metrics['name']``, ``get`` and ``in``.
    """

    VERSION = '1.1'
    fields = fields.objects_of(MonitorMetric)

    @classmethod
    def from_json(cls, metrics):
        """Return those of a JSON text, in which PERCENTS are fractions.

        None and an empty text are of no metrics.
        Raises ValueError for other text.
        """
        return cls(objects=[
            MonitorMetric(**each | {
                'value': each['value'] * 100 if each['name'] in PERCENTS
                else each['value']} if 'value' in each else each)
            for each in (json.loads(metrics) if metrics else ())])

    def to_list(self):
        """Return them as they are reported: list of dicts."""
        return [metric.to_dict() for metric in self.objects]

    def get(self, name, default=None):
        """Return the MetricItem of a name, the last one; default for none."""
        return next((
            MetricItem(metric.get('value'), metric['timestamp'],
                       metric['source'])
            for metric in reversed(self.to_list())
            if metric['name'] == name), default)

    def __getitem__(self, index):
        if not isinstance(index, str):
            return super().__getitem__(index)
        found = self.get(index)
        if found is None:
            raise KeyError(index)
        return found

    def __contains__(self, value):
        if isinstance(value, str):
            return self.get(value) is not None
        return super().__contains__(value)
