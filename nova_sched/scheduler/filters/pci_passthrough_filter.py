"""PciPassthroughFilter: hosts with the requested PCI devices free."""

import functools

import numpy as np
from oslo_log import log as logging

from nova_sched.hardware.pci import devices as pci_devices
from nova_sched.hardware.pci.requests import DeviceRequests
from nova_sched.hosts import budget
from nova_sched.rules import figures
from nova_sched.rules import offered
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class PciPassthroughFilter(filters.ColumnFilter):
    """Hosts with enough free devices for all PCI requests together.

    NUMATopologyFilter checks the NUMA affinity of the devices.
    """

    code = 'pci'
    inputs = 'pci_stats', 'uuid'
    logs_rejected = True

    def mask(self, hosts, spec_obj):
        requests = _requests(spec_obj)
        if not requests:
            return np.ones(len(hosts), dtype=np.bool_)
        device_requests = DeviceRequests(requests)

        def judge(values, mappings):
            pools, = values
            if pools is None:
                return [False] * len(mappings)
            devices = pci_devices.HostDevices(pools, device_requests)
            return [devices.fits(mapping)
                    for mapping in budget.checked(mappings)]

        passes = offered.narrow(type(self).__name__, hosts, ['pci_stats'],
                                device_requests, judge)
        text = str(requests)
        for state in filters.rejected(LOG, hosts, passes):
            LOG.debug("%(host)s doesn't have the required PCI devices "
                      '(%(requests)s)', {'host': state, 'requests': text})
        return passes

    def figures(self, hosts, spec_obj):
        requests = _requests(spec_obj)
        device_requests = DeviceRequests(requests)

        def free(number, pools):
            return 0 if pools is None else pci_devices.HostDevices(
                pools, device_requests).free_on_nodes(number).total()

        return [figures.Figure(
            'PCI devices', 'devices', request.count, hosts.evaluate(
                'pci_stats', functools.partial(free, number), np.float64))
            for number, request in enumerate(requests)]

    def reason(self, hosts, spec_obj):
        requests = _requests(spec_obj)
        shown = requests[:phrases.SHOWN]
        device_requests = DeviceRequests(shown)
        devices = [pci_devices.HostDevices(pools, device_requests)
                   for pools in budget.checked(
                       {*hosts.objects('pci_stats')} - {None})]
        texts, short = [], False
        for number, request in enumerate(shown):
            most = max((of_host.free_on_nodes(number).total()
                        for of_host in devices), default=0)
            short |= most < request.count
            texts.append(f'need {request.count} of {_described(request)}, '
                         f'most free {most}')
        if len(requests) > phrases.SHOWN:
            texts.append(f'and {len(requests) - phrases.SHOWN} more requests')
        if devices and not short:
            texts.append(_nearest(shown, devices) or (
                'not with the others' if len(requests) > phrases.SHOWN else
                'not at the providers that Placement names'))
        # Callers must not see the devices of an alias, which is an option.
        return phrases.Reason('need ' + phrases.some(
            f'{request.count} of {phrases.shortened(request.alias_name)}'
            if request.alias_name else f'{request.count} for ports'
            for request in requests), text='; '.join(texts))


def _nearest(requests, devices):
    """Return the shortfall of the host that satisfies most requests, as text.

    devices: non-empty list of HostDevices.  Returns '' if a host has enough
    devices for all requests.
    """
    shortfalls = [of_host.shortfall() for of_host in devices]
    if None in shortfalls:
        return ''
    number, have = max(shortfalls)
    if have >= requests[number].count:
        return ''
    return (f'nearest host has {have} of {requests[number].count} of '
            f'{_described(requests[number])}'
            + ' beside the others' * (number > 0))


def _requests(spec_obj):
    pci_requests = spec_obj.pci_requests
    return pci_requests.requests if pci_requests is not None else []


def _described(request):
    return phrases.shortened(' or '.join(
        ' '.join(f'{key}={value}' for key, value in sorted(spec.items()))
        for spec in request.spec) or 'nothing', 120)
