"""Option types that are kinder than oslo.config's own."""

from oslo_config import types
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class Clamped:
    """A number that is moved to its bound, with a warning, when beyond it.

    Older releases of Nova let an operator set values that newer ones refuse;
    an existing file with such a value must not stop the service.
    name: how the warning calls the option, ``[group] name``.
    """

    def __init__(self, name, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.name = name

    def __call__(self, value):
        value = str(value).strip()
        number = self.num_type(value) if value else None
        if number is not None and number < self.min:
            LOG.warning('%s = %s is below its minimum: using %s',
                        self.name, value, self.min)
            return self.num_type(self.min)
        return super().__call__(value)


class ClampedInteger(Clamped, types.Integer):
    """A whole number; below ``min`` it counts as ``min``."""


class ClampedFloat(Clamped, types.Float):
    """A number; below ``min`` it counts as ``min``."""
