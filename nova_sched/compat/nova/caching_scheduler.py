"""As ``nova.scheduler.caching_scheduler``, to derive a driver from."""

from nova_sched.compat.nova import filter_scheduler
from nova_sched.scheduler import caching_scheduler


class CachingScheduler(filter_scheduler.FilterScheduler,
                       caching_scheduler.CachingScheduler):
    """The caching scheduler, constructed without arguments."""
