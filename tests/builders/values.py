"""Immutable values."""

import dataclasses


def is_fixed(value):
    """Whether no field of a value can be set."""
    for field in dataclasses.fields(value):
        try:
            setattr(value, field.name, getattr(value, field.name))
        except dataclasses.FrozenInstanceError:
            continue
        return False
    return True
