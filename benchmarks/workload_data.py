"""Workloads as data: the files in ``benchmarks/data/workloads``.

A file is a JSON object: ``description``; ``requests``, with their ``kind``
(benchmarks/workload_requests.py); ``labels``, a dict of label to ``hosts``,
``requests`` and more figures of that size; ``reach``, a list of figures to
reach, each with ``at_least`` or ``at_most``; ``options``, configuration
options other than defaults, by section; ``notes``, more facts about its
requests.
"""

import dataclasses
import json
import pathlib

DATA = pathlib.Path(__file__).parent / 'data'
WORKLOADS = DATA / 'workloads'

#: Small sizes for CI, sizes for measurements, and slow sizes.
LABELS = ('short', 'full', 'large')
KINDS = ('plain', 'groups', 'refused', 'many', 'topology')
#: Figures of every run; a workload may require values of them.
FIGURES = ('requests/s', 'placements/s', 'p50 ms', 'p99 ms')
_BOUNDS = ('at_least', 'at_most')
_KEYS = {'description', 'requests', 'labels', 'reach'}
_MORE_KEYS = {'options', 'notes'}
_SIZES = {'hosts', 'requests', 'instances', 'refused_in_a_row', 'runs'}


@dataclasses.dataclass(frozen=True)
class Goal:
    """A figure to reach; ``bound`` is at_least or at_most."""

    figure: str
    bound: str
    limit: float

    def ratio(self, value):
        """Return how far a value is: 1.0 or more when the goal is reached."""
        return (value / self.limit if self.bound == 'at_least'
                else self.limit / value)

    def __str__(self):
        return f'{self.figure} {self.bound.replace("_", " ")} {self.limit:g}'


@dataclasses.dataclass(frozen=True)
class Workload:
    """One workload in the size of one label.

    requests: its kind and arguments of that kind.  instances: per request.
    refused_in_a_row: number of refusals that ends it; None to make all
        requests.
    runs: number of runs; None for the number on the command line.
    options: section -> {option: text}.
    """

    name: str
    description: str
    requests_of: dict
    goals: tuple
    options: dict
    hosts: int
    requests: int
    instances: int = 1
    refused_in_a_row: int | None = None
    runs: int | None = None

    @property
    def kind(self):
        """Kind of the requests: one of KINDS."""
        return self.requests_of['kind']


def names(directory=WORKLOADS):
    """Return the names of all workloads, sorted."""
    return sorted(path.stem for path in directory.glob('*.json'))


def load(name, label, directory=WORKLOADS):
    """Return the Workload of a label; None if it has no such label.

    Raises ValueError, which names the file and its error.
    """
    path = directory / f'{name}.json'
    try:
        value = json.loads(path.read_text())
        _check(value)
    except ValueError as error:
        raise ValueError(f'{path.name}: {error}') from error
    if label not in value['labels']:
        return None
    return Workload(
        name=name, description=value['description'],
        requests_of=value['requests'], options=value.get('options', {}),
        goals=tuple(map(_goal, value['reach'])), **value['labels'][label])


def _goal(entry):
    bound = next(name for name in _BOUNDS if name in entry)
    return Goal(entry['figure'], bound, entry[bound])


def _check(value):
    _expect(isinstance(value, dict), 'not an object')
    missing = _KEYS - value.keys()
    _expect(not missing, f'lacks {sorted(missing)}')
    unknown = value.keys() - _KEYS - _MORE_KEYS
    _expect(not unknown, f'unknown {sorted(unknown)}')
    kind = value['requests'].get('kind')
    _expect(kind in KINDS, f'kind {kind!r} is none of {KINDS}')
    for label, sizes in value['labels'].items():
        _expect(label in LABELS, f'label {label!r} is none of {LABELS}')
        _expect({'hosts', 'requests'} <= sizes.keys() <= _SIZES,
                f'{label} has {sorted(sizes)}')
        _expect(all(type(size) is int and size > 0
                    for size in sizes.values()), f'{label} has {sizes}')
    for entry in value['reach']:
        _expect(entry.get('figure') in FIGURES and len(entry) == 2
                and any(name in entry for name in _BOUNDS),
                f'figure to reach {entry}')


def _expect(holds, what):
    if not holds:
        raise ValueError(what)
