"""As ``nova.compute.vm_states``: values of an instance's vm_state."""

from nova_sched import toml_files

_STATES = toml_files.read('states.toml', __package__)['vm_states']
globals().update(_STATES)
