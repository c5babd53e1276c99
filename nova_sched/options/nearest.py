"""The right name that is nearest to a wrong one."""

import difflib


def nearest(wrong, names, cutoff=0.6):
    """Return the name most like a wrong one, in any case: text or None."""
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wrong.lower(), by_lower, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def did_you_mean(wrong, names):
    """Return a hint with the nearest right name, or with all names."""
    names = sorted(names)
    near = nearest(wrong, names)
    if near is not None:
        return f'did you mean {near}?'
    if not names:
        return 'there is nothing to choose from'
    return f'choose from {", ".join(names)}'
