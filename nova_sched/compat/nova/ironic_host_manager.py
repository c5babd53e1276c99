"""As ``nova.scheduler.ironic_host_manager``, to derive a host manager from."""

from nova_sched.compat.nova import host_manager
from nova_sched.scheduler import ironic_host_manager

#: A bare-metal node's state is like that of any host here.
IronicNodeState = host_manager.HostState


class IronicHostManager(host_manager.HostManager,
                        ironic_host_manager.IronicHostManager):
    """This service's class, constructed without arguments."""
