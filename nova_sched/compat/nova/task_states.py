"""As ``nova.compute.task_states``: values of an instance's task_state."""

from nova_sched.options import known_options

_STATES = known_options.table('states.toml', __package__)['task_states']
globals().update(_STATES)
