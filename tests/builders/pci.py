"""PCI devices for tests: reports of hosts, and requests."""

import json

from nova_sched import objects
from nova_sched.hardware.pci.devices import HostDevices
from nova_sched.hardware.pci.pools import Pools
from nova_sched.hardware.pci.requests import DeviceRequests

_FIELDS = {'vendor_id': '8086', 'product_id': '1520', 'numa_node': None,
           'count': 1}


def a_pool(**values):
    """A pool as a dict; keywords that are not fields are tags."""
    return _FIELDS | values


def pci_stats(*pools):
    """The text in which current compute services report pools."""
    return json.dumps(_envelope('PciDevicePoolList', objects=[
        _envelope('PciDevicePool', tags={
            name: value for name, value in pool.items()
            if name not in _FIELDS}, **{name: pool[name] for name in _FIELDS})
        for pool in pools]))


def _envelope(name, **data):
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': '1.1', 'nova_object.data': data}


def some_pools(*pools):
    """Pools of these plain dicts."""
    return Pools.of(pci_stats(*pools))


def take(pools, requests, mapping=None, cells=None):
    """The remaining Pools after all requests, or None if they do not fit."""
    devices = HostDevices(pools, DeviceRequests(requests))
    left, served = devices.taken(mapping, cells)
    return left if served == len(requests) else None


def a_pci_request(count=1, *specs, **values):
    """A request of an alias for devices that match any of the specs."""
    return objects.InstancePCIRequest(**{
        'count': count, 'alias_name': 'nic', 'request_id': 'nic-id',
        'numa_policy': None,
        'spec': list(specs) or [{'vendor_id': '8086'}], **values})


def pci_requests(*requests):
    """All PCI requests of an instance."""
    return objects.InstancePCIRequests(requests=list(requests))
