"""Mutation testing: changes the code, and reports what no test detects.

    python -m tools.mutation STATE [--count N] [--seed N] [--only-report]

STATE is a directory, created if missing: a copy of the last commit
(``tree``), the tests that run each line (``coverage``), and the results
(``session.sqlite``, of cosmic-ray).  A run can be stopped at any time; the
next one with the same STATE continues it.

Each change is tested with the unit and property tests that run its line.  The
report names the changes that none of them detects, among them those of lines
that no test runs.  Changes that cannot be detected are in
``equivalents.toml``.  The exit code is 0 if all changes were tested and 97 %
of the others detected.
"""

import argparse
import collections
import os
import pathlib
import shlex
import subprocess
import sys

import cosmic_ray.ast
import cosmic_ray.commands
from cosmic_ray.mutating import mutate_and_test
import cosmic_ray.plugins
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import WorkerOutcome
from cosmic_ray.work_item import WorkResult
import coverage

from tools.mutation import choice
from tools.mutation import operators

HERE = pathlib.Path(__file__).resolve().parent
TESTS = ('tests/unit', 'tests/properties')
PYTEST = (sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider')

cosmic_ray.plugins.OPERATOR_PROVIDERS['nova_sched'] = operators.Provider()


def prepare(state):
    """Create the copy and its coverage data, unless they exist."""
    tree, packed = state / 'tree', state / 'tree.tar'
    if not packed.exists():
        subprocess.run(['git', 'archive', '-o', packed, 'HEAD'], check=True)
    # In each run: one that was killed may leave a change behind.
    tree.mkdir(exist_ok=True)
    subprocess.run(['tar', '-x', '-f', packed, '-C', tree], check=True)
    os.chdir(tree)
    os.environ['PYTHONPATH'] = str(tree)
    os.environ['HYPOTHESIS_STORAGE_DIRECTORY'] = str(state / 'hypothesis')
    if not (state / 'coverage').exists():
        part = state / 'coverage.part'
        subprocess.run([*PYTEST, '--cov=nova_sched', '--cov-context=test',
                        '--cov-report=', *TESTS], check=True,
                       env={**os.environ, 'COVERAGE_FILE': str(part)})
        part.rename(state / 'coverage')
    # Their sources' digests tell whether they are valid: times would not.
    subprocess.run([sys.executable, '-m', 'compileall', '-q',
                    '--invalidation-mode', 'checked-hash', 'nova_sched',
                    'tests'], check=True)


def choose(session, count, seed):
    """Fill a session with changes, unless it has some already."""
    if session.num_work_items:
        return
    cosmic_ray.commands.init(sorted(
        pathlib.Path('nova_sched').rglob('*.py')), session, {})
    places = collections.defaultdict(list)
    for item in session.work_items:
        spec = item.mutations[0]
        places[str(spec.module_path), spec.start_pos].append((
            spec.operator_name, spec.occurrence, item))
    chosen = choice.sample(
        [(module, place, sorted(changes, key=lambda found: found[:2]))
         for (module, place), changes in places.items()], count, seed)
    session.clear()
    session.add_work_items(item for _, _, item in chosen)


def judge(session, state):
    """Test each change that has no result yet, and store the result."""
    data = coverage.CoverageData(str(state / 'coverage'))
    data.read()
    ran = {pathlib.Path(path).as_posix().rpartition('/nova_sched/')[2]: path
           for path in data.measured_files()}
    for item in sorted(session.pending_work_items,
                       key=lambda item: item.job_id):
        spec = item.mutations[0]
        module = spec.module_path.as_posix()
        contexts = data.contexts_by_lineno(
            ran.get(module.removeprefix('nova_sched/'), ''))
        tests = choice.judges(
            contexts, range(spec.start_pos[0], spec.end_pos[0] + 1),
            choice.nearest(module, TESTS[0]))
        if tests is None:
            result = WorkResult(WorkerOutcome.NO_TEST, 'no test runs it')
        else:
            # A directory takes longer than one test.
            seconds = sum(1 if '::' in test else 600 for test in tests)
            seconds = 120 + seconds if tests else 3600
            result = mutate_and_test(item.mutations, command(
                state, choice.nearest_first(tests, module)
                or [*choice.nearest(module, TESTS[0]), *TESTS], seconds),
                4 * seconds)
        session.set_result(item.job_id, result)
        print(result.test_outcome or result.worker_outcome, module,
              spec.start_pos, spec.operator_name, flush=True)


def command(state, tests, seconds):
    """Return the command that runs these tests up to the first failure.

    It fails after some seconds of CPU time, which does not depend on the load
    of the machine.
    """
    names = state / 'tests.txt'
    names.write_text('\n'.join(tests))
    return shlex.join(['prlimit', f'--cpu={seconds}', *PYTEST, '-x',
                       '--hypothesis-seed=0', f'@{names}'])


def report(session):
    """Print what no test detects; return whether enough is detected."""
    same = choice.equivalents(HERE / 'equivalents.toml')
    counts, used = collections.Counter(), set()
    for item, result in session.completed_work_items:
        module = item.mutations[0].module_path.as_posix()
        key = module, *choice.change(result.diff or '')
        # cosmic-ray fails with some of its own operators: that is no change.
        outcome = ('not made' if (result.worker_outcome
                                  is WorkerOutcome.EXCEPTION) else
                   'unreached' if result.test_outcome is None else
                   'seen' if result.is_killed else
                   'equivalent' if key in same else 'missed')
        used.add(key)
        counts[outcome] += 1
        if outcome in ('unreached', 'missed'):
            print(outcome, module, item.mutations[0].start_pos,
                  item.mutations[0].operator_name, result.diff or '',
                  sep='  ')
    print(dict(counts), 'of', session.num_work_items)
    seen = counts['seen']
    share = seen / max(1, seen + counts['missed'] + counts['unreached'])
    print(f'{share:.1%} of what is not equivalent was seen')
    return share >= 0.97 and session.num_results == session.num_work_items


def main():
    parser = argparse.ArgumentParser(prog='python -m tools.mutation')
    parser.add_argument('state', type=pathlib.Path)
    parser.add_argument('--count', type=int, default=400)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only-report', action='store_true')
    options = parser.parse_args()
    state = options.state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    with use_db(state / 'session.sqlite') as session:
        if not options.only_report:
            prepare(state)
            choose(session, options.count, options.seed)
            judge(session, state)
        return 0 if report(session) else 1


if __name__ == '__main__':
    sys.exit(main())
