"""ExactRamFilter: bare metal of exactly the right memory."""

from nova_sched.scheduler.filters import capacity


class ExactRamFilter(capacity.BaseExactFilter):
    """Hosts whose free RAM is exactly the flavor's."""

    resource = capacity.RAM
