"""Juno: weight_multiplier without an argument, translated log lines."""

from nova.i18n import _LW
from nova.openstack.common import log as logging
from nova.scheduler import weights

LOG = logging.getLogger(__name__)


class WantedHostWeigher(weights.BaseHostWeigher):
    """Prefers hosts with a hint's text as prefix of their name."""

    minval, maxval = 0, 1

    def weight_multiplier(self):
        """Return more than all other multipliers."""
        return 50.0

    def _weigh_object(self, host_state, weight_properties):
        hints = weight_properties.get('scheduler_hints') or {}
        begin = hints.get('host_begins')
        if begin is not None and not isinstance(begin, str):
            LOG.warning(_LW('Not a text: %s'), begin)
            return 0
        return int(bool(begin) and host_state.host.startswith(begin))
