"""Types of options: amounts with units."""

import argparse
import decimal
import re

_MEGABYTES = {'M': 1, 'G': 1024, 'T': 1024 ** 2}
_AMOUNT = re.compile(r'([0-9]+(?:\.[0-9]+)?) ?(?:([MGT])(?:i?B)?)?',
                     re.IGNORECASE)


def megabytes(text):
    """Return the whole MB of '512', '512M', '1.5GB' or '2TiB'.

    Raises argparse.ArgumentTypeError.
    """
    return _amount(text, 'M', '32G')


def gigabytes(text):
    """Return the whole GB of '20', '20G' or '1TiB'.

    Raises argparse.ArgumentTypeError.
    """
    return _amount(text, 'G', '1T')


def _amount(text, unit, example):
    match = _AMOUNT.fullmatch(text.strip())
    if match:
        number, given = match.groups()
        factor = _MEGABYTES[(given or unit).upper()]
        amount = decimal.Decimal(number) * factor / _MEGABYTES[unit]
        if amount == int(amount):
            return int(amount)
    raise argparse.ArgumentTypeError(
        f'{text!r}: must be a whole number of {unit}B, or have a unit, as in '
        f'{example}')
