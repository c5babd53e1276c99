"""Waiting for what others do, with words for when it does not come."""

import functools
import inspect
import time
import types

#: Seconds that anything may take before it counts as failed: far more than
#: it takes on a machine that is busy with other things.
PATIENCE = 120
#: Characters that a failure tells of one thing: its last ones.
_LENGTH = 4000


def until(condition, what=None, seconds=PATIENCE, interval=0.01):
    """Wait for a true result of a function without arguments; return it.

    what: what is waited for, in words; by default the function's own.
    Raises AssertionError with these, the last result, and what the function
    looked at.
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


def _source(condition):
    try:
        return inspect.getsource(condition).strip()
    except (OSError, TypeError):
        return repr(condition)


def _looked_at(condition):
    """What a function takes from around it: name -> value."""
    if isinstance(condition, functools.partial):
        return {**{f'argument {number}': value for number, value
                   in enumerate(condition.args)}, **condition.keywords}
    if isinstance(condition, types.MethodType):
        return {'of': condition.__self__}
    if isinstance(condition, types.FunctionType):
        # A loop's variable is told to a function as a default.
        given = inspect.signature(condition).parameters.values()
        return {**inspect.getclosurevars(condition).nonlocals,
                **{each.name: each.default for each in given}}
    return {}


def _shown(value):
    """What there is to see of a value; of a function its result."""
    try:
        if isinstance(value, types.FunctionType):
            value = value()
        if type(value).__repr__ is object.__repr__:
            value = vars(value)
        return repr(value)[-_LENGTH:]
    except Exception as error:
        return f'cannot be shown: {error!r}'
