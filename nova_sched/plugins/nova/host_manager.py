"""As ``nova.scheduler.host_manager``, of which plug-ins know HostState.

Host states are made by the service; a host manager of one's own cannot take
the place of its own.
"""

from nova_sched.hosts import state as host_state

HostState = host_state.HostState
