"""As ``nova.servicegroup``: whether services are up."""

import datetime
import time

from nova_sched import conf as config
from nova_sched.compat.nova.conf import CONF


class API:
    """Derives whether services are up from their rows.

    conf: ConfigOpts.  now: function that returns the seconds since the epoch.
    Other arguments are ignored.
    """

    def __init__(self, *args, conf=CONF, now=time.time, **kwargs):
        self._conf, self._now = conf, now

    def service_is_up(self, member):
        """Return whether the last heartbeat of a service is recent enough.

        member: its row, such as ``host_state.service``: mapping with
            forced_down, last_seen_up and created_at.
        """
        seen = member.get('last_seen_up') or member.get('created_at')
        if member.get('forced_down') or seen is None:
            return False
        if seen.tzinfo is None:
            seen = seen.replace(tzinfo=datetime.UTC)
        away = abs(self._now() - seen.timestamp())
        return away <= config.service_down_time(self._conf)
