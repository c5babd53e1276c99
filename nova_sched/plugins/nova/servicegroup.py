"""As ``nova.servicegroup``: whether services are up."""

import datetime

from nova_sched import conf as config
from nova_sched.plugins.nova.conf import CONF


class API:
    """Goes by the rows of services, whatever the arguments."""

    def __init__(self, *args, **kwargs):
        pass

    def service_is_up(self, member):
        """Whether a service has been heard from in time.

        member: its row, such as ``host_state.service``: mapping with
            forced_down, last_seen_up and created_at.
        """
        seen = member.get('last_seen_up') or member.get('created_at')
        if member.get('forced_down') or seen is None:
            return False
        if seen.tzinfo is None:
            seen = seen.replace(tzinfo=datetime.UTC)
        away = datetime.datetime.now(datetime.UTC) - seen
        return abs(away.total_seconds()) <= config.service_down_time(CONF)
