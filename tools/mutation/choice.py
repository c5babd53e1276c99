"""Which changes are made, which tests judge them, and which do not count."""

import collections
import pathlib
import random
import tomllib


def sample(places, count, seed):
    """Some of the places where the code can be changed: a list.

    places: list of (module, place, changes).  Every module has at least one
    in the answer, more in proportion to its places, and of each place's
    changes there is one: about ``count`` in all.  The same for one seed, and
    what one module holds moves nothing in another.
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
    """The tests that a change of these lines is shown to: list of node ids.

    contexts: {line: what ran it} of a file; a test is "node id|phase", and
    '' is what imports it.  Where only importing runs a line, these are the
    tests that run any of the file, and those of ``directory``, a list of
    none or one.  None where nothing runs it.
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
    """The tests in an order in which the first probably see a change."""
    names = module.removesuffix('.py').split('/')

    def distance(test):
        path = test.partition('::')[0]
        return (f'test_{names[-1]}.' not in path, 'properties' in path,
                -len({*names} & {*path.split('/')}), test)
    return sorted(tests, key=distance)


def nearest(module, tests):
    """The directory of tests that mirrors a module's: list of one or none."""
    path = pathlib.Path(tests, *pathlib.Path(module).parts[1:-1])
    return [str(path)] if path.is_dir() else []


def equivalents(path):
    """{(module, line before, line after): why} of changes nobody can see."""
    with open(path, 'rb') as file:
        return {(entry['module'], entry['before'], entry['after']):
                entry['why'] for entry in tomllib.load(file)['change']}


def change(diff):
    """(line before, line after) of a unified diff; '' where there is none."""
    lines = [line for line in diff.splitlines()
             if line[:1] in '+-' and line[:3] not in ('+++', '---')]
    return tuple('\n'.join(line[1:].strip() for line in lines
                           if line.startswith(sign)) for sign in '-+')
