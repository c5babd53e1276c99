"""Requests that a real Nova's API makes of flavors and images; for peer.py.
"""

from nova import objects
from nova.compute import api
from nova.pci import request
from nova.virt import hardware

_IMAGE = {'id': '155d900f-4e14-4e4c-a73d-069cbf4541e6', 'status': 'active',
          'min_ram': 0, 'min_disk': 0, 'size': 0}


def wanted(extra_specs, properties):
    """The NUMA cells, emulator policy and devices that Nova requests.

    For a flavor of 4 VCPUs and 2048 MB.
    """
    flavor = objects.Flavor(
        id=1, name='f', flavorid='f', vcpus=4, memory_mb=2048, root_gb=1,
        ephemeral_gb=0, swap=0, extra_specs=extra_specs)
    image = objects.ImageMeta.from_dict({**_IMAGE, 'properties': properties})
    found = hardware.numa_get_constraints(flavor, image)
    policy = hardware.get_pci_numa_policy_constraint(flavor, image)
    api.API._validate_flavor_image_nostatus(
        None, {**_IMAGE, 'properties': properties}, flavor, None,
        validate_numa=True)
    devices = request.get_pci_requests_from_flavor(
        flavor, affinity_policy=policy).requests
    return {
        'emulator': found and found.emulator_threads_policy,
        'cells': found and [
            [sorted(cell.cpuset), sorted(cell.pcpuset), cell.memory,
             cell.pagesize, cell.cpu_policy, cell.cpu_thread_policy]
            for cell in found.cells],
        'devices': [[device.alias_name, device.count, device.spec,
                     device.numa_policy] for device in devices]}


def properties(given):
    """The properties of an image with these texts: name -> value."""
    made = objects.ImageMetaProps.from_dict(given)
    return {name: getattr(made, name) for name in given
            if made.obj_attr_is_set(name)}


ANSWERED = {function.__name__: function for function in (wanted, properties)}
