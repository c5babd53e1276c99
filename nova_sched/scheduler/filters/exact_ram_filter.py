"""ExactRamFilter: bare metal with exactly the flavor's memory."""

from nova_sched.scheduler.filters import amounts


class ExactRamFilter(amounts.BaseExactFilter):
    """Hosts with exactly the flavor's RAM free."""

    code = 'ram'
    resource = amounts.RAM
    inputs = ('free_ram_mb',)
