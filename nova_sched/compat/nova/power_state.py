"""As ``nova.compute.power_state``: states of instances in hypervisors."""

from nova_sched import toml_files

_STATES = toml_files.read('states.toml', __package__)['power_state']
globals().update(_STATES)

STATE_MAP = {number: 'pending' if name == 'NOSTATE' else name.lower()
             for name, number in _STATES.items()}
