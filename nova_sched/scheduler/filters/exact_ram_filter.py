"""ExactRamFilter: bare metal with exactly the flavor's memory."""

from nova_sched.rules import amounts


class ExactRamFilter(amounts.BaseExactFilter):
    """Hosts whose free RAM is exactly the flavor's."""

    code = 'ram'
    resource = amounts.RAM
    inputs = ('free_ram_mb',)
