"""The right name that is nearest to a wrong one."""

import difflib


def nearest(wrong, names, cutoff=0.6):
    """Return the name most like a wrong one, in any case: text or None."""
    return next(iter(several(wrong, names, 1, cutoff)), None)


def several(wrong, names, most, cutoff=0.6):
    """Return the names most like a wrong one, in any case: list."""
    by_lower = {name.lower(): name for name in names}
    return [by_lower[name] for name in difflib.get_close_matches(
        wrong.lower(), by_lower, most, cutoff)]


def did_you_mean(wrong, names):
    """Return a hint with the nearest right name, or with all names."""
    names = sorted(names)
    near = nearest(wrong, names)
    if near is not None:
        return f'did you mean {near}?'
    if not names:
        return 'there is nothing to choose from'
    return f'choose from {", ".join(names)}'
