"""As ``nova.compute.task_states``: values of an instance's task_state."""

from nova_sched import toml_files

_STATES = toml_files.read('states.toml', __package__)['task_states']
globals().update(_STATES)
