"""Option types that correct a value instead of refusing it."""

from oslo_config import cfg
from oslo_config import types


class Clamped:
    """A number that counts as its minimum if it is below.

    Older releases of Nova accept values that newer releases refuse, so an
    existing file with such a value must not stop the service.  There is a
    warning (``options.warnings``).
    """

    def __call__(self, value):
        value = str(value).strip()
        number = self.num_type(value) if value else None
        if number is not None and number < self.min:
            return self.num_type(self.min)
        return super().__call__(value)


class ClampedInteger(Clamped, types.Integer):
    """A whole number; below ``min`` it counts as ``min``."""


class ClampedFloat(Clamped, types.Float):
    """A number; below ``min`` it counts as ``min``."""


def at_least(minimum, name, default, help_text):
    """Return an option whose value counts as the minimum if it is below.

    Its type is the type of the minimum, int or float.
    """
    kind = ClampedInteger if isinstance(minimum, int) else ClampedFloat
    return cfg.Opt(name, default=default, help=help_text,
                   type=kind(min=minimum))
