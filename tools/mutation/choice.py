"""Selects the changes, the tests for them, and those that do not count."""

import collections
import pathlib
import random
import tomllib


def sample(places, count, seed):
    """Return some of the places where the code can be changed: list.

    places: list of (module, place, changes).
    count: approximate number of changes.  Every module gets one, and more in
        proportion to its places; a place has one change at most.
    seed: equal seeds give equal samples, in which one module does not
        influence another.
    """
    modules = collections.defaultdict(list)
    for module, _, changes in sorted(places):
        modules[module].append(changes)
    each = max(0, count - len(modules)) / max(1, len(places))
    chosen = []
    for module, found in modules.items():
        rng = random.Random(f'{seed} {module}')
        some = rng.sample(found, min(1 + round(each * len(found)), len(found)))
        chosen += map(rng.choice, some)
    return chosen


def judges(contexts, lines, directory=()):
    """Return the tests for a change of these lines: list of node ids.

    contexts: {line: contexts that ran it} of a file; a context is a test's
        "node id|phase", or '' for the import.
    For a line that only the import runs, these are the tests that run any
    line of the file, and those of ``directory``, a list of none or one.
    None for a line that nothing runs.
    """
    ran, last = {context for line in lines
                 for context in contexts.get(line, ())}, []
    if not ran:
        return None
    if ran == {''}:
        ran = {context for found in contexts.values() for context in found}
        last = list(directory)
    found = sorted({context.rpartition('|')[0].partition('[')[0]
                    for context in ran} - {''})
    return found and found + last


def nearest_first(tests, module):
    """Return the tests, the most likely to detect a change first."""
    names = module.removesuffix('.py').split('/')

    def distance(test):
        path = test.partition('::')[0]
        return (f'test_{names[-1]}.' not in path, 'properties' in path,
                -len({*names} & {*path.split('/')}), test)
    return sorted(tests, key=distance)


def nearest(module, tests):
    """Return the directory of a module's tests: list of one or none."""
    path = pathlib.Path(tests, *pathlib.Path(module).parts[1:-1])
    return [str(path)] if path.is_dir() else []


def equivalents(path):
    """Return undetectable changes: {(module, line before, after): why}."""
    with open(path, 'rb') as file:
        return {(entry['module'], entry['before'], entry['after']):
                entry['why'] for entry in tomllib.load(file)['change']}


def change(diff):
    """Return (line before, line after) of a unified diff, '' for none."""
    lines = [line for line in diff.splitlines()
             if line[:1] in '+-' and line[:3] not in ('+++', '---')]
    return tuple('\n'.join(line[1:].strip() for line in lines
                           if line.startswith(sign)) for sign in '-+')
