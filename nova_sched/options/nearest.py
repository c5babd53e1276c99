"""Finds the right name that is nearest to a wrong name."""

import difflib
import re

#: Endings of names of filters and weighers; minimum length of a beginning.
_ENDING, _SHORTEST = re.compile('(?:filter|weigher)$'), 3


def nearest(wrong, names, cutoff=0.6):
    """Return the name nearest to a wrong name, in any case: text or None."""
    return next(iter(several(wrong, names, 1, cutoff)), None)


def several(wrong, names, most, cutoff=0.6):
    """Return the names nearest to a wrong name, in any case: list."""
    by_lower = {name.lower(): name for name in names}
    return [by_lower[name] for name in difflib.get_close_matches(
        wrong.lower(), by_lower, most, cutoff)]


def _of_same_beginning(wrong, names):
    """Return the only name with the beginning of a wrong name: text or None.

    Without the ending that names of filters and weighers share.
    """
    stem = _ENDING.sub('', wrong.lower())
    matches = [name for name in names if name.lower().startswith(stem)]
    if len(stem) < _SHORTEST or len(matches) != 1:
        return None
    return matches[0]


def did_you_mean(wrong, names):
    """Return a hint with the nearest right name, or with all names."""
    names = sorted(names)
    near = _of_same_beginning(wrong, names) or nearest(wrong, names)
    if near is not None:
        return f'did you mean {near}?'
    if not names:
        return 'there is nothing to choose from'
    return f'choose from {", ".join(names)}'
