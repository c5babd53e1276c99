"""As ``nova.compute.vm_states``: values of an instance's vm_state."""

from nova_sched.options import known_options

_STATES = known_options.table('states.toml', __package__)['vm_states']
globals().update(_STATES)
