"""The best of many numbers, in order, without sorting all of them."""

import numpy as np


def best(values, most):
    """Return where the greatest values stand, the greatest first: int (n,).

    values: float64 (n,).  most: how many are wanted.
    Those of equal values stand as they do in ``values``.  There are more if
    more are as great as the last one wanted.
    """
    if len(values) > 8 * most:
        least = np.partition(values, -most)[-most]
        found = np.flatnonzero(values >= least)
        # What is no number is sorted as the greatest, and greater than none.
        if len(found) >= most:
            return found[np.argsort(-values[found], kind='stable')]
    return np.argsort(-values, kind='stable')
