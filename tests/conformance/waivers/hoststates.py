"""Host states with values that Nova leaves empty."""

from tests.conformance.waivers import facts

#: Values that a host has here although it never reported its usage.
_FILLED_IN = {'cpu_allocation_ratio', 'ram_allocation_ratio',
              'disk_allocation_ratio', 'hypervisor_hostname'}


def _ratios_never_reported(difference):
    """Hosts that never reported their usage have a ratio here."""
    expected, got = difference.expected, difference.got
    if facts.is_error(got) or expected.keys() != got.keys():
        return None
    for host, state in expected.items():
        differing = {key for key, value in state.items()
                     if value != got[host][key]}
        if differing - _FILLED_IN or any(
                state[key] is not None for key in differing):
            return None
    return 'a host that never reported its usage has ratios and a node name'


HOSTSTATES = (_ratios_never_reported,)
