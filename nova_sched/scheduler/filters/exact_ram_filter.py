"""ExactRamFilter: bare metal of exactly the right memory."""

from nova_sched.rules import amounts


class ExactRamFilter(amounts.BaseExactFilter):
    """Hosts whose free RAM is exactly the flavor's."""

    code = 'ram'
    resource = amounts.RAM
    inputs = ('free_ram_mb',)
