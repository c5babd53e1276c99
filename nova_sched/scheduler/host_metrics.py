"""What the monitors of a compute node have measured."""

import dataclasses
import functools
import math

from nova_sched.hardware import reports

_COLUMN = 'metrics'

#: Metrics that are reported as fractions and count as whole percents.
_PERCENTS = frozenset((
    'cpu.percent', 'cpu.user.percent', 'cpu.kernel.percent',
    'cpu.idle.percent', 'cpu.iowait.percent'))


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
        """The value of a metric; NaN where there is none."""
        return self.values.get(name, math.nan)

    def listed(self):
        """The metrics as they were reported: list."""
        if not self.text:
            return []
        return reports.read(_COLUMN, self.text, _as_list, [])


def column(hosts, name):
    """One metric of each host of a HostBlock: float64 (n,), NaN without."""
    return hosts.derived('metrics', name,
                         lambda metrics: metrics.value(name))


def _read(metric):
    """(name, whole number as float) of a metric; (None, None) if it has none.

    Truncated to whole numbers as Nova does: 0.29 is 28 percent.
    """
    try:
        name, value = metric['name'], metric.get('value')
        if value is None:       # a table of memory bandwidths
            return None, None
        if name in _PERCENTS:
            value = float(value) * 100
        return name, float(int(value))
    except (AttributeError, LookupError, OverflowError, TypeError,
            ValueError):
        reports.warn_once(_COLUMN, _fault(metric))
        return None, None


def _fault(metric):
    """What is wrong with a metric, whatever its value is at the moment."""
    name = metric.get('name') if isinstance(metric, dict) else None
    if not isinstance(name, str):
        return 'a metric without a name'
    return f'the value of {name:.40} is no number'


def _as_list(value):
    if not isinstance(value, list):
        raise reports.UnreadableError('no list of metrics')
    return value
