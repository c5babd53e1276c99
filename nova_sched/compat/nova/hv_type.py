"""Nova's names of hypervisor types.

As ``nova.objects.fields.HVType``, and ``nova.compute.hv_type`` until Newton.
"""

from oslo_versionedobjects import fields

from nova_sched.compat import nova_exception

ALL = ('baremetal', 'bhyve', 'docker', 'fake', 'hyperv', 'ironic', 'kqemu',
       'kvm', 'lxc', 'lxd', 'openvz', 'parallels', 'phyp', 'qemu', 'test',
       'uml', 'vbox', 'vmware', 'vz', 'xen', 'zvm', 'prsm')
_CONSTANTS = {'VIRTUOZZO' if name == 'vz' else name.upper(): name
              for name in ALL}
globals().update(_CONSTANTS)


def is_valid(name):
    """Return whether this is the exact name of a type."""
    return name in ALL


def canonicalize(name):
    """Return the type of a name in any case; None for None.

    Raises InvalidHypervisorVirtType for an unknown name.
    """
    if name is None:
        return None
    lower = name.lower()
    canonical = 'xen' if lower == 'xapi' else lower
    if canonical not in ALL:
        raise nova_exception.InvalidHypervisorVirtType(hv_type=name)
    return canonical


class HVType(fields.Enum):
    """The same names as attributes of a field type."""

    ALL = ALL
    is_valid = staticmethod(is_valid)
    canonicalize = staticmethod(canonicalize)

    def __init__(self):
        super().__init__(ALL)


for _name, _value in _CONSTANTS.items():
    setattr(HVType, _name, _value)
