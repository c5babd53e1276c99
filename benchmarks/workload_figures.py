"""Figures of workloads: of one run, over several, and their tables."""

import collections
import statistics

from benchmarks import load
from benchmarks import topology

HEAD = ('workload', 'hosts', 'requests', 'requests/s', 'placements/s',
        'p50 ms', 'p99 ms', 'look-up ms', 'CPU %', 'refused', 'violations')
SHARES_HEAD = ('workload', 'requests', 'asked', 'placed', 'share %')
#: Approximate number of points of a curve.
_POINTS = 150


class Figures:
    """The results of a workload's runs.

    runs: list of lists of Answer.  rooms: {host: violations.Room}.
    violations: texts of all runs.
    """

    def __init__(self, workload, runs, rooms, violations):
        self.workload, self.violations = workload, violations
        self._answers, self._rooms = runs[0], rooms
        self._runs = [_of_run(answers) for answers in runs]

    def median(self, figure):
        """Return the median of a figure over the runs."""
        return statistics.median(run[figure] for run in self._runs)

    def row(self):
        """Return the cells of HEAD: medians, with least and most of rates."""
        return (self.workload.name, self.workload.hosts, len(self._answers),
                self._with_spread('requests/s'),
                self._with_spread('placements/s'),
                *(f'{self.median(name):.2f}'
                  for name in ('p50 ms', 'p99 ms', 'look-up ms')),
                f'{self.median("CPU %"):.0f}',
                sum(not answer.hosts for answer in self._answers),
                len(self.violations))

    def _with_spread(self, figure):
        values = [run[figure] for run in self._runs]
        text = f'{self.median(figure):.0f}'
        if len(values) > 1:
            text += f' ({min(values):.0f}-{max(values):.0f})'
        return text

    def goals(self):
        """Yield (Goal, median, whether it is reached)."""
        for goal in self.workload.goals:
            value = self.median(goal.figure)
            yield goal, value, goal.ratio(value) >= 1

    def shares(self):
        """Yield the cells of SHARES_HEAD: by policy, and of all requests.

        Only the first run counts.
        """
        counts = collections.defaultdict(collections.Counter)
        for answer in self._answers:
            for name in (answer.asked.policy or 'no policy', 'all'):
                counts[name]['asked'] += 1
                counts[name]['placed'] += bool(answer.hosts)
        for name, count in sorted(counts.items()):
            yield (self.workload.name, name, count['asked'], count['placed'],
                   f'{100 * count["placed"] / count["asked"]:.1f}')

    def summary(self):
        """Return a sentence with the results of a topology workload."""
        groups, sharing = topology.shared_racks(
            self.workload.requests_of['data'], self._answers)
        cpus, memory = (100 * self._given(name) / self._free(name)
                        for name in ('vcpus', 'memory_mb'))
        refused = self.workload.refused_in_a_row
        end = (f', the last {refused} refused' if refused and not any(
            answer.hosts for answer in self._answers[-refused:]) else '')
        return (f'{self.workload.name}: {len(self._answers)} requests{end}; '
                f'{memory:.1f} % of the free RAM and {cpus:.1f} % of the CPUs '
                f'are taken; of {groups} groups with several fault domains '
                f'{sharing} have two of them in one rack.')

    def ram_curve(self):
        """Return (requests, used percent of the free RAM): list."""
        free, taken, points = self._free('memory_mb'), 0, [(0, 0.0)]
        every = max(1, len(self._answers) // _POINTS)
        for number, answer in enumerate(self._answers, 1):
            taken += answer.asked.memory_mb * len(answer.hosts)
            if number % every == 0 or number == len(self._answers):
                points.append((number, 100 * taken / free))
        return points

    def _given(self, name):
        return sum(getattr(answer.asked, name) * len(answer.hosts)
                   for answer in self._answers)

    def _free(self, name):
        return sum(getattr(room, name) for room in self._rooms.values())


def _of_run(answers):
    """Return the figures of one run: {name: value}.

    The first request does not count, and the time to create requests neither.
    CPU %: processor time divided by elapsed time.
    """
    answers = answers[1:]
    times = [answer.ms for answer in answers]
    seconds = sum(times) / 1000
    result = load.summary(times, 0, seconds)
    return {'requests/s': result.per_second,
            'placements/s': sum(len(answer.hosts)
                                for answer in answers) / seconds,
            'CPU %': sum(answer.cpu_ms for answer in answers) / seconds / 10,
            'p50 ms': result.p50, 'p99 ms': result.p99,
            'look-up ms': statistics.median(
                answer.look_up_ms for answer in answers)}
