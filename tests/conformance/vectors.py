"""Reading a folder of recorded cases."""

import dataclasses
import functools
import gzip
import json
import pathlib

from nova_sched.rules import nova_classes

KINDS = ('filters', 'weighers', 'schedule', 'hoststates')

_QUEENS_WEIGHERS = (
    'ram.RAMWeigher', 'disk.DiskWeigher', 'metrics.MetricsWeigher',
    'io_ops.IoOpsWeigher', 'pci.PCIWeigher',
    'affinity.ServerGroupSoftAffinityWeigher',
    'affinity.ServerGroupSoftAntiAffinityWeigher',
    'compute.BuildFailureWeigher')

#: Options with other defaults in a release than here.
ERA_DEFAULTS = {
    'queens': {'filter_scheduler': {'weight_classes': [
        f'nova.scheduler.weights.{name}' for name in _QUEENS_WEIGHERS]}},
    '2026.2': {'filter_scheduler': {'weight_classes': [
        f'nova.scheduler.weights.{module}.{name}'
        for module, names in nova_classes.WEIGHER_MODULES.items()
        for name in names]},
               'DEFAULT': {'initial_cpu_allocation_ratio': 4.0,
                           'initial_ram_allocation_ratio': 1.0,
                           'initial_disk_allocation_ratio': 1.0}},
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a question of a case.

    name: the filter, weigher, schedule family or kind of host state.
    verdict: 'passed', 'failed' or 'waived'.
    reason: of a waiver, or the difference.  got: our answer if it differs.
    """

    case: dict
    name: str
    verdict: str
    reason: str = ''
    got: object = None

    def line(self):
        """The outcome as a line of JSON."""
        return json.dumps({
            'id': self.case['id'], 'era': self.case['era'],
            'kind': self.case['kind'], 'name': self.name,
            'ok': self.verdict == 'passed',
            'waived': self.verdict == 'waived',
            'reason': self.reason, 'got': self.got}, default=str)


class Folder:
    """A folder of recorded cases."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def cases(self):
        """All cases, sorted by cloud: an iterator of dicts."""
        lines = []
        for kind in KINDS:
            file = self.path / f'{kind}.jsonl.gz'
            if file.exists():
                with gzip.open(file, 'rt') as stream:
                    lines += [json.loads(line) for line in stream]
        return iter(sorted(lines, key=lambda case: (
            case['cloud'], KINDS.index(case['kind']))))

    @functools.lru_cache(maxsize=4)  # noqa: B019 - one folder a process
    def cloud(self, name):
        """The rows of a cloud."""
        return json.loads((self.path / 'clouds' / f'{name}.json').read_text())
