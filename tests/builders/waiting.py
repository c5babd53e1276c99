"""Waiting for a condition, with a useful text, and for threads."""

import functools
import inspect
import threading
import time
import types

#: Seconds to wait for any condition, enough for a very busy machine.
PATIENCE = 120
#: Number of last characters of a value in the text of a failure.
_LENGTH = 4000


def until(condition, what=None, seconds=PATIENCE, interval=0.01):
    """Wait for a true result of a function without arguments; return it.

    what: description of the condition; by default the function's source.
    Raises AssertionError with the description, the last result, and the
    variables that the function uses.
    """
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            lines = [f'not within {seconds} seconds: '
                     f'{what or _source(condition)}', f'last: {result!r}']
            for name, value in _looked_at(condition).items():
                lines.append(f'{name}: {_shown(value)}')
            raise AssertionError('\n'.join(lines))
        time.sleep(interval)
    return result


def in_threads(*functions):
    """Call functions at the same time, and wait for all of them."""
    start = threading.Barrier(len(functions))
    threads = [threading.Thread(target=lambda each=each: (
        start.wait(PATIENCE), each())) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)


def _source(condition):
    try:
        return inspect.getsource(condition).strip()
    except (OSError, TypeError):
        return repr(condition)


def _looked_at(condition):
    """The variables that a function uses: name -> value."""
    if isinstance(condition, functools.partial):
        return {**{f'argument {number}': value for number, value
                   in enumerate(condition.args)}, **condition.keywords}
    if isinstance(condition, types.MethodType):
        return {'of': condition.__self__}
    if isinstance(condition, types.FunctionType):
        # Lambdas in loops have the loop's variable as a default.
        given = inspect.signature(condition).parameters.values()
        return {**inspect.getclosurevars(condition).nonlocals,
                **{each.name: each.default for each in given}}
    return {}


def _shown(value):
    """The text of a value; of a function, of its result."""
    try:
        if isinstance(value, types.FunctionType):
            value = value()
        if type(value).__repr__ is object.__repr__:
            value = vars(value)
        return repr(value)[-_LENGTH:]
    except Exception as error:
        return f'cannot be shown: {error!r}'
