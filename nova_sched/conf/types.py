"""Option types that are kinder than oslo.config's own."""

from oslo_config import types


class Clamped:
    """A number that is moved to its bound when beyond it.

    Older releases of Nova let an operator set values that newer ones refuse;
    an existing file with such a value must not stop the service.
    ``warnings`` tells of it.
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
